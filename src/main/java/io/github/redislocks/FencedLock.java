package io.github.redislocks;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * A reentrant {@link java.util.concurrent.locks.Lock} whose holds have a lease and a fencing token, and may be lost.
 * Get one from {@link Locks}; {@link RedisReentrantLock} says how holds end, in which order threads are served, and
 * what happens while Redis is away.
 *
 * <pre>{@code
 * FencedLock lock = locks.reentrantLock("account:" + id);
 * lock.runWithLock(() -> store.write(id, amount, lock.fencingToken()));
 * }</pre>
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface FencedLock extends LeasedLock<LockHandle> {

    /** The name that the lock was made with. */
    String getName();

    /**
     * As {@link #lock()}, but the hold is not renewed and ends with the given lease at the latest. On a re-entry the
     * hold lasts at least this long; a longer hold is not shortened. Neither lasts longer than a
     * {@link RedisLocks.Builder#maxHold maxHold}.
     *
     * @param lease 100 ms to 24 h
     * @throws IllegalArgumentException if the lease is shorter or longer
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    void lock(Duration lease);

    /**
     * As {@link #lockInterruptibly()}, with a lease as in {@link #lock(Duration)}.
     *
     * @throws IllegalArgumentException if the lease is shorter than 100 ms or longer than 24 h
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    void lockInterruptibly(Duration lease) throws InterruptedException;

    /**
     * As {@link #tryLock(long, TimeUnit)}, with a lease as in {@link #lock(Duration)}.
     *
     * @throws IllegalArgumentException if the lease is shorter than 100 ms or longer than 24 h
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if nobody knows whether the lock is busy
     */
    boolean tryLock(Duration wait, Duration lease) throws InterruptedException;

    /**
     * Returns the Condition of this lock with the given name, which is the same Condition in all JVMs.
     *
     * @param conditionName 1 to 256 characters
     * @throws IllegalArgumentException if the name cannot work
     * @throws UnsupportedOperationException on a quorum
     */
    Condition newCondition(String conditionName);

    /**
     * The fencing token of the calling thread's hold. Every new hold of a lock has a greater token than all earlier
     * holds; re-entries share the token. A resource that remembers the greatest token it has seen, and refuses smaller
     * ones, is safe from holders that were paused past their lease.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if it did and has lost it
     */
    long fencingToken();

    /** How often the calling thread holds the lock; 0 if it does not, or has lost it. Local. */
    int getHoldCount();

    /**
     * Whether any thread of any JVM holds the lock. Asks Redis.
     *
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    boolean isLocked();

    /** Whether threads of all JVMs get the lock in order of arrival. */
    boolean isFair();

    /**
     * Ends any hold, for an operator who knows that the holder is gone. The holder is notified at once if its client
     * has a subscription, as it has once it has waited for a lock or {@link LockHandle#lost()} was asked for; else at
     * its next renewal. Until then it believes that it holds the lock, so that two may work at once.
     *
     * @return whether there was a hold
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    boolean forceUnlock();
}
