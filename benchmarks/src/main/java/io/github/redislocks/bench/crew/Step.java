package io.github.redislocks.bench.crew;

import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Mutex;
import io.github.redislocks.bench.contender.Setting;
import java.io.Serializable;

/** One call of a lock by a worker's main thread. */
public record Step(Contender contender, Setting setting, String key, Call call) implements Task<Step.Answer> {

    /** What a worker says before it waits. */
    public static final String CALLING = "calling";

    /**
     * What came of it.
     *
     * @param at when, by the clock of all JVMs
     * @param cpuNanos what the calling thread needed
     */
    public record Answer(long at, long cpuNanos) implements Serializable {}

    /** Which call. */
    public enum Call {
        /** Answers when it was had. */
        LOCK,
        /** Answers when it was called. */
        UNLOCK
    }

    @Override
    public Answer run(Worker worker) {
        Mutex mutex = worker.client(contender, setting).mutex(key);
        if (call == Call.LOCK) {
            worker.say(CALLING);
        }
        long cpu = Loop.threadCpuNanos();
        long called = System.nanoTime();
        if (call == Call.LOCK) {
            mutex.lock();
        } else {
            mutex.unlock();
        }
        long returned = System.nanoTime();
        return new Answer(call == Call.LOCK ? returned : called, Loop.threadCpuNanos() - cpu);
    }
}
