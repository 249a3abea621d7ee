package io.github.redislocks;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A reentrant {@link Lock} whose holds have a lease and a fencing token, and may be lost. Get one from {@link Locks};
 * {@link RedisReentrantLock} says how holds end, in which order threads are served, and what happens while Redis is
 * away.
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
public interface FencedLock extends Lock {

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
     * As {@link #tryLock(long, TimeUnit)}.
     *
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if nobody knows whether the lock is busy
     */
    default boolean tryLock(Duration wait) throws InterruptedException {
        return tryLock(TimeUnit.NANOSECONDS.convert(Objects.requireNonNull(wait, "wait")), TimeUnit.NANOSECONDS);
    }

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

    /**
     * How long the calling thread's hold stays valid if it is not renewed any more; zero if the thread has no hold.
     * Local: asks no server.
     */
    Duration remainingLease();

    /**
     * Returns if the calling thread holds the lock now, and throws otherwise. Local, and cheap enough for every step of
     * a long job.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if it did and has lost it
     */
    void ensureHeld();

    /**
     * Whether the previous holder never released the lock: it crashed, lost the lock, or was forced to give it up. What
     * the lock protects may then be half changed. False alarms are possible; misses are not, as long as Redis keeps its
     * data. An unlock that reached Redis in time is a release, even if its answer came so late that the holder had to
     * report a loss: the holder had finished by then.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if it did and has lost it
     */
    boolean previousHolderLost();

    /** How often the calling thread holds the lock; 0 if it does not, or has lost it. Local. */
    int getHoldCount();

    /** Whether the calling thread holds the lock and its hold is valid now. Local. */
    boolean isHeldByCurrentThread();

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
     * Ends whatever hold there is, for an operator who knows that its holder is gone. The holder is told at once if its
     * client has a subscription, as it has once it has waited for a lock or {@link LockHandle#lost()} was asked for;
     * else at its next renewal. Until then it believes that it holds the lock, so that two may work at once.
     *
     * @return whether there was a hold
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    boolean forceUnlock();

    /**
     * Locks, runs an action, unlocks, and returns what the action returned. For an action that throws a checked
     * exception there is {@link #callWithLock}.
     *
     * <pre>{@code
     * int left = lock.withLock(() -> stock.take(sku));
     * }</pre>
     *
     * @throws LockLostException if the lock was lost before the action had ended; if the action threw as well, its
     *     exception is thrown, and this one added to it as suppressed
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}; the action did not run
     */
    default <T extends @Nullable Object> T withLock(Supplier<T> action) {
        Objects.requireNonNull(action, "action");
        lock();
        return callAndUnlock(action::get);
    }

    /**
     * As {@link #withLock}, for an action that may throw a checked exception.
     *
     * @throws E if the action throws it
     * @throws LockLostException if the lock was lost before the action had ended, as with {@link #withLock}
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}; the action did not run
     */
    default <T extends @Nullable Object, E extends Exception> T callWithLock(LockedCall<T, E> action) throws E {
        Objects.requireNonNull(action, "action");
        lock();
        return callAndUnlock(action);
    }

    /**
     * Locks, runs an action that returns nothing and may throw a checked exception, and unlocks.
     *
     * @throws E if the action throws it
     * @throws LockLostException if the lock was lost before the action had ended, as with {@link #withLock}
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}; the action did not run
     */
    default <E extends Exception> void runWithLock(LockedRun<E> action) throws E {
        Objects.requireNonNull(action, "action");
        lock();
        runAndUnlock(action);
    }

    /**
     * Runs an action under the lock if it becomes free within a time. For an action that throws a checked exception
     * there is {@link #tryCallWithLock}.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @return what the action returned, or that the lock was busy
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; the action did not run
     * @throws LockLostException if the lock was lost before the action had ended, as with {@link #withLock}
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if nobody knows whether the lock is busy; the action did not run
     */
    default <T extends @Nullable Object> LockedResult<T> tryWithLock(Duration wait, Supplier<T> action)
            throws InterruptedException {
        Objects.requireNonNull(action, "action");
        return tryLock(wait) ? LockedResult.of(callAndUnlock(action::get)) : LockedResult.busy();
    }

    /**
     * As {@link #tryWithLock}, for an action that may throw a checked exception.
     *
     * @throws E if the action throws it
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; the action did not run
     * @throws LockLostException if the lock was lost before the action had ended, as with {@link #withLock}
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if nobody knows whether the lock is busy; the action did not run
     */
    default <T extends @Nullable Object, E extends Exception> LockedResult<T> tryCallWithLock(
            Duration wait, LockedCall<T, E> action) throws E, InterruptedException {
        Objects.requireNonNull(action, "action");
        return tryLock(wait) ? LockedResult.of(callAndUnlock(action)) : LockedResult.busy();
    }

    /**
     * Runs an action that returns nothing and may throw a checked exception under the lock if it becomes free within a
     * time.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @return whether the action ran
     * @throws E if the action throws it
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; the action did not run
     * @throws LockLostException if the lock was lost before the action had ended, as with {@link #withLock}
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if nobody knows whether the lock is busy; the action did not run
     */
    default <E extends Exception> boolean tryRunWithLock(Duration wait, LockedRun<E> action)
            throws E, InterruptedException {
        Objects.requireNonNull(action, "action");
        if (!tryLock(wait)) {
            return false;
        }
        runAndUnlock(action);
        return true;
    }

    private <E extends Exception> void runAndUnlock(LockedRun<E> action) throws E {
        callAndUnlock(() -> {
            action.run();
            return Boolean.TRUE;
        });
    }

    private <T extends @Nullable Object, E extends Exception> T callAndUnlock(LockedCall<T, E> action) throws E {
        T result;
        try {
            result = action.call();
        } catch (Throwable e) {
            try {
                unlock();
            } catch (RuntimeException | Error met) {
                // The action's exception has precedence, since it may be the cause or the consequence of a loss.
                e.addSuppressed(met);
            }
            throw e;
        }
        unlock();
        return result;
    }
}
