package io.github.redislocks.bench.crew;

import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Mutex;
import io.github.redislocks.bench.contender.Setting;
import io.github.redislocks.bench.contender.Use;
import java.io.Serializable;

/** A call of a lock by a worker's main thread. */
public record Step(Contender contender, Setting setting, Use use, String key, Call call) implements Task<Step.Answer> {

    /** The message of a worker that is about to wait. */
    public static final String CALLING = "calling";

    /**
     * The result.
     *
     * @param called when the lock was called, by the common clock of all JVMs
     * @param returned when the call returned, by that clock
     * @param cpuNanos the processor time of the calling thread
     */
    public record Answer(long called, long returned, long cpuNanos) implements Serializable {}

    /** The call to make. */
    public enum Call {
        LOCK,
        UNLOCK
    }

    @Override
    public Answer run(Worker worker) {
        Mutex mutex = use.of(worker.client(contender, setting), key);
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
        return new Answer(called, System.nanoTime(), Loop.threadCpuNanos() - cpu);
    }
}
