package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.shared.ShareLock;
import java.lang.invoke.VarHandle;
import java.util.Collection;
import java.util.concurrent.locks.ReadWriteLock;

/**
 * A lock for many readers or one writer, for all JVMs that use the same Redis, like
 * {@link java.util.concurrent.locks.ReentrantReadWriteLock} within one JVM. Get it from
 * {@link RedisLocks#readWriteLock(String)}. The write lock is the {@link RedisReentrantLock} of the same name.
 *
 * <p><b>Order.</b> Readers and writers take turns: after a writer, all readers that wait at that moment go in, and
 * after those the first writer. So neither can keep the other out.
 *
 * <p><b>Re-entry.</b> A thread that reads may lock the read lock again, also while a writer waits. A thread that reads
 * cannot lock the write lock: it would wait for itself, so {@code lock()} throws {@link IllegalMonitorStateException},
 * and {@code tryLock()} returns false.
 *
 * @since 0.1.0
 */
public final class RedisReentrantReadWriteLock implements ReadWriteLock {

    private final LockClient client;
    private final RedisReentrantLock writeLock;
    private final RedisReadLock readLock;
    private final ShareLock share;

    RedisReentrantReadWriteLock(LockClient client, RedisReentrantLock writeLock, ShareLock share) {
        this.client = client;
        this.writeLock = writeLock;
        this.share = share;
        this.readLock = new RedisReadLock(client, share);
    }

    @Override
    public RedisReadLock readLock() {
        return readLock;
    }

    /** The lock for writers: the same lock as {@link RedisLocks#reentrantLock(String)} with this name. */
    @Override
    public RedisReentrantLock writeLock() {
        return writeLock;
    }

    /**
     * Begins an optimistic read, which keeps no writer out. Returns a stamp for {@link #validate}, or zero if a writer
     * has the lock, or may have it: because a client keeps the plain lock by a residency, or during a
     * {@link RedisLocksBuilder#failoverGrace}. Then read under the {@link #readLock()}. Sends no request while this
     * {@link RedisLocks} has the lock for readers, else one.
     *
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    public long tryOptimisticRead() {
        long local = share.version();
        return local == 0 ? client.queries().version(share.keys()) : local;
    }

    /**
     * Returns true only if nobody has had the write lock since {@link #tryOptimisticRead()} returned the stamp, so that
     * what the calling thread has read meanwhile belongs together. Any thread of any JVM may ask, at any time later:
     * the stamp is the token of the last writer. Sends no request while this {@link RedisLocks} has the lock for
     * readers, else one. False for the stamp zero, and while the calling thread has the write lock itself.
     *
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    public boolean validate(long stamp) {
        // The caller's reads must happen before this method looks at the lock.
        VarHandle.acquireFence();
        return stamp != 0 && tryOptimisticRead() == stamp;
    }

    /** The name of the lock. */
    public String getName() {
        return writeLock.getName();
    }

    /**
     * The number of read holds of the threads and handles of this {@link RedisLocks}, with re-entries. Asks no server.
     */
    public int getReadLockCount() {
        return share.countReads();
    }

    /** The number of read holds of the calling thread: how many unlocks of the read lock are due. Asks no server. */
    public int getReadHoldCount() {
        return share.readCount();
    }

    /**
     * Whether a thread or a handle of any JVM holds the write lock. If another client keeps the lock by a residency,
     * returns true as well. Asks Redis.
     *
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    public boolean isWriteLocked() {
        return writeLock.isLocked();
    }

    /** Whether the calling thread holds the write lock now. Asks no server. */
    public boolean isWriteLockedByCurrentThread() {
        return writeLock.isHeldByCurrentThread();
    }

    /** The number of write holds of the calling thread. Asks no server. */
    public int getWriteHoldCount() {
        return writeLock.getHoldCount();
    }

    /** The threads of this {@link RedisLocks} that wait for the read lock, in no particular order. Asks no server. */
    public Collection<Thread> getQueuedReaderThreads() {
        return client.shares.queuedThreads(share.keys());
    }

    /** The threads of this {@link RedisLocks} that wait for the write lock, in no particular order. Asks no server. */
    public Collection<Thread> getQueuedWriterThreads() {
        return writeLock.getQueuedThreads();
    }

    /** Whether threads of this {@link RedisLocks} wait for the read or the write lock. Asks no server. */
    public boolean hasQueuedThreads() {
        return getQueueLength() > 0;
    }

    /** The number of threads of this {@link RedisLocks} that wait for the read or the write lock. Asks no server. */
    public int getQueueLength() {
        return getQueuedReaderThreads().size() + getQueuedWriterThreads().size();
    }

    /** Describes the lock: its name, and how many read holds this client has. Asks no server. */
    @Override
    public String toString() {
        return "RedisReentrantReadWriteLock " + Shown.of(getName()) + "[Read locks = " + share.countReads() + "]";
    }
}
