package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.handles.AcquireFuture;
import io.github.redislocks.handles.RedisReadHandle;
import io.github.redislocks.shared.ShareLock;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * The lock for readers of a {@link RedisReentrantReadWriteLock}. Any number of threads of all JVMs may hold it at once,
 * as long as no thread holds the write lock.
 *
 * <p>The threads and handles of one {@link RedisLocks} share one hold in Redis, the <em>share</em>. A reader that finds
 * an open share enters without a request. The share ends soon after its last reader, and as soon as its readers have
 * left if a writer waits. If the share is lost, all threads that read under it have lost the lock, as
 * {@link RedisReentrantLock} describes: {@link #isHeldByCurrentThread()} turns false, the {@link LockListener} is
 * notified of each thread's loss, and the next {@link #unlock()} or {@link #ensureHeld()} of each throws
 * {@link LockLostException}.
 *
 * @since 0.1.0
 */
public final class RedisReadLock implements LeasedLock<ReadHandle> {

    private final LockClient client;
    private final ShareLock share;

    RedisReadLock(LockClient client, ShareLock share) {
        this.client = client;
        this.share = share;
    }

    /**
     * Acquires the read lock, and waits for it as long as necessary. A thread that reads already, or that holds the
     * write lock, enters again without waiting. Any other thread waits behind a writer, and behind writers that wait.
     * An interrupt does not end the wait; the interrupt flag stays set.
     *
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    @Override
    public void lock() {
        share.lock();
    }

    /**
     * Acquires the read lock as {@link #lock()} does, but an interrupt ends the wait.
     *
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        share.lockInterruptibly();
    }

    /**
     * Acquires the read lock if no writer holds the lock or waits for it. Unlike the JDK's lock, does not overtake
     * writers that wait: readers that try again and again could keep them out for ever.
     *
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis did not answer or refused
     */
    @Override
    public boolean tryLock() {
        return share.tryLock();
    }

    /**
     * Acquires the read lock as {@link #lock()} does, if that is possible within the given time. With a time of zero or
     * less, does what {@link #tryLock()} does.
     *
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis did not answer in that time, or refused
     */
    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return share.tryLock(Objects.requireNonNull(unit, "unit").toNanos(time));
    }

    /**
     * Acquires the read lock for a handle, and waits for it as {@link #lockInterruptibly()} does. Any number of handles
     * share the hold of this {@link RedisLocks} in Redis with its threads. A handle is not re-entrant: it waits behind
     * a writer even if the calling thread reads or writes already.
     *
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    @Override
    public ReadHandle acquire() throws InterruptedException {
        return newHandle()
                .acquire(WaitLimit.interruptible(share.retryForNanos()))
                .orElseThrow();
    }

    @Override
    public Optional<ReadHandle> tryAcquire(Duration wait) throws InterruptedException {
        return newHandle().acquire(limit(wait));
    }

    /**
     * {@inheritDoc}
     *
     * <p>If this {@link RedisLocks} has the lock for readers already, and no writer waits, the future is complete when
     * this method returns, and no request is sent.
     */
    @Override
    public CompletableFuture<ReadHandle> acquireAsync() {
        return newHandle().acquireAsync(WaitLimit.endless(share.retryForNanos()), AcquireFuture.waiting());
    }

    @Override
    public CompletableFuture<Optional<ReadHandle>> tryAcquireAsync(Duration wait) {
        return newHandle().acquireAsync(limit(wait), AcquireFuture.trying());
    }

    private RedisReadHandle newHandle() {
        client.attempts.checkOpen();
        return new RedisReadHandle(client, share);
    }

    private WaitLimit limit(Duration wait) {
        return share.limit(TimeUnit.NANOSECONDS.convert(Objects.requireNonNull(wait, "wait")));
    }

    /**
     * Unlocks once. Sends no request, or one in the background, and so never waits for Redis.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the read lock
     * @throws LockLostException if the calling thread held the read lock and has lost it
     */
    @Override
    public void unlock() {
        share.unlock();
    }

    /**
     * Not supported, as with the JDK's lock: a reader cannot wait in a Condition, since others read on.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException(
                "A read lock offers no Conditions. Use a Condition of the write lock, and wait for it as a writer.");
    }

    /** The name of the lock. */
    public String getName() {
        return share.keys().name();
    }

    /**
     * The token of the last writer, which is the version of what the calling thread reads: it grows with each writer.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the read lock
     * @throws LockLostException if the calling thread held the read lock and has lost it
     */
    public long version() {
        return share.ensureRead().token;
    }

    @Override
    public boolean isHeldByCurrentThread() {
        return share.readCount() > 0;
    }

    @Override
    public void ensureHeld() {
        Held unused = share.ensureRead();
    }

    @Override
    public Duration remainingLease() {
        return Duration.ofNanos(share.remainingReadNanos());
    }

    /**
     * {@inheritDoc}
     *
     * <p>The previous holder is the last writer, so all readers until the next writer get the same result.
     */
    @Override
    public boolean previousHolderLost() {
        return share.ensureRead().previousLost;
    }

    /**
     * Describes the lock: its name, and how many read holds the threads and handles of this client have. Asks no
     * server.
     */
    @Override
    public String toString() {
        return "RedisReadLock " + Shown.of(getName()) + "[Read locks = " + share.countReads() + "]";
    }
}
