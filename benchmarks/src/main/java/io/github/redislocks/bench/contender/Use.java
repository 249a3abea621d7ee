package io.github.redislocks.bench.contender;

import java.util.concurrent.locks.ReadWriteLock;

/** The lock or permit that a thread takes with each turn. */
public enum Use {
    LOCK,
    READ,
    WRITE,
    /** Of 100 turns, 99 read and one writes, at random. */
    READ_99,
    /** Of 100 turns, 90 read and 10 write, at random. */
    READ_90,
    /** A permit of {@link Permit#SIZE}. */
    PERMIT;

    /** Makes the mutex of the calling thread. */
    public Mutex of(LockClient client, String key) {
        if (this == LOCK) {
            return client.mutex(key);
        } else if (this == PERMIT) {
            return client.permit(key);
        }
        ReadWriteLock lock = client.readWriteLock(key);
        return switch (this) {
            case READ -> Mutex.of(lock.readLock());
            case WRITE -> Mutex.of(lock.writeLock());
            case READ_99 -> new ReadMostly(lock, 99);
            default -> new ReadMostly(lock, 90);
        };
    }
}
