package io.github.redislocks.bench.contender;

import java.util.concurrent.locks.Lock;

/** A lock of one name, as one thread uses it. */
public interface Mutex {

    void lock();

    void unlock();

    static Mutex of(Lock lock) {
        return new Java(lock);
    }

    /** A lock of Java's interface. */
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
