package io.github.redislocks.bench.contender;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/** A read-write lock, which a thread locks at random for reading or for writing. */
final class ReadMostly implements Mutex {

    private final Lock readLock;
    private final Lock writeLock;
    private final int reads;
    private boolean writes;

    /** Makes the mutex that reads so many times out of 100. */
    ReadMostly(ReadWriteLock lock, int reads) {
        this.readLock = lock.readLock();
        this.writeLock = lock.writeLock();
        this.reads = reads;
    }

    @Override
    public void lock() {
        writes = ThreadLocalRandom.current().nextInt(100) >= reads;
        (writes ? writeLock : readLock).lock();
    }

    @Override
    public void unlock() {
        (writes ? writeLock : readLock).unlock();
    }

    @Override
    public long part() {
        return writes ? ROOM : 1;
    }
}
