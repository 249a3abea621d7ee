package io.github.redislocks.bench.contender;

import java.util.concurrent.locks.Lock;

/** A lock with one name, for one thread. */
public interface Mutex {

    /** The room for those who have a lock at once. */
    long ROOM = 1L << 32;

    void lock();

    void unlock();

    /** The part of the room that the thread takes with the turn it has. A writer takes all. */
    default long part() {
        return ROOM;
    }

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
