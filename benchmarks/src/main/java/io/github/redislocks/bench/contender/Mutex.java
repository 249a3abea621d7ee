package io.github.redislocks.bench.contender;

import java.util.concurrent.locks.Lock;

/** A lock with one name, for one thread. */
public interface Mutex {

    void lock();

    void unlock();

    static Mutex of(Lock lock) {
        return new Java(lock);
    }

    /** A mutex that is a {@link Lock}. */
    record Java(Lock inner) implements Mutex {
        @Override
        public void lock() {
            inner.lock();
        }

        @Override
        public void unlock() {
            inner.unlock();
        }
    }
}
