package io.github.redislocks.bench.crew;

import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Mutex;
import io.github.redislocks.bench.contender.Setting;

/** One call of a lock by a worker's main thread; answers when that was, by the clock of all JVMs. */
public record Step(Contender contender, Setting setting, String key, Call call) implements Task<Long> {

    /** What a worker says before it waits. */
    public static final String CALLING = "calling";

    /** Which call. */
    public enum Call {
        /** Answers when the lock was had. */
        LOCK,
        /** Answers when the unlock was called. */
        UNLOCK
    }

    @Override
    public Long run(Worker worker) {
        Mutex mutex = worker.client(contender, setting).mutex(key);
        if (call == Call.LOCK) {
            worker.say(CALLING);
            mutex.lock();
            return System.nanoTime();
        }
        long called = System.nanoTime();
        mutex.unlock();
        return called;
    }
}
