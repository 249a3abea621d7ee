package io.github.redislocks;

import io.github.redislocks.work.HandledWork;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A {@link Lock} whose holds have a lease and may be lost, with all ways to take it. {@link FencedLock} is one lock,
 * {@link MultiLock} several as one; each has every way, with the {@link LockOptions} that it was made with.
 *
 * <table>
 * <caption>The ways to take a lock</caption>
 * <tr><th>the hold belongs to</th><th>wait</th><th>try</th><th>without a thread that waits</th></tr>
 * <tr><td>the calling thread, until {@code unlock()}</td>
 *     <td>{@link #lock()}, {@link #lockInterruptibly()}</td><td>{@link #tryLock()}, {@link #tryLock(Duration)}</td>
 *     <td></td></tr>
 * <tr><td>the calling thread, while an action runs</td>
 *     <td>{@link #callWithLock callWithLock}, {@link #runWithLock runWithLock}</td>
 *     <td>{@link #tryCallWithLock tryCallWithLock}, {@link #tryRunWithLock tryRunWithLock}</td><td></td></tr>
 * <tr><td>a {@link Handle}, until its {@code close()}</td>
 *     <td>{@link #acquire()}</td><td>{@link #tryAcquire tryAcquire}</td>
 *     <td>{@link #acquireAsync()}, {@link #tryAcquireAsync tryAcquireAsync}</td></tr>
 * <tr><td>a handle, while an action runs</td>
 *     <td>{@link #callWithHandle callWithHandle}, {@link #runWithHandle runWithHandle}</td>
 *     <td>{@link #tryCallWithHandle tryCallWithHandle}, {@link #tryRunWithHandle tryRunWithHandle}</td>
 *     <td>{@link #callWithHandleAsync callWithHandleAsync},
 *     {@link #tryCallWithHandleAsync tryCallWithHandleAsync}</td></tr>
 * </table>
 *
 * <p>A time of zero or less takes a free lock only. Such a try is the same by every way: it waits for the answer of
 * Redis alone, for one command timeout at most, and asks a client that keeps the lock without using it to release it. A
 * fair lock is left to those that stand in line, except by {@link #tryLock()}, as with the JDK's lock.
 *
 * <p>Every way that asks Redis throws {@link IllegalStateException} once the {@link Locks} is closed, and
 * {@link LockUnavailableException} if Redis stays away: for longer than {@code retryFor} where the call waits, and in
 * its time where the call tries, since nobody knows then whether the lock is busy.
 *
 * <p>Later versions may have more methods, with a default.
 *
 * @param <H> the type of its handles
 * @since 0.1.0
 */
public interface LeasedLock<H extends Handle> extends Lock {

    /**
     * As {@link #tryLock(long, TimeUnit)}.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if nobody knows whether the lock is busy
     */
    default boolean tryLock(Duration wait) throws InterruptedException {
        return tryLock(TimeUnit.NANOSECONDS.convert(Objects.requireNonNull(wait, "wait")), TimeUnit.NANOSECONDS);
    }

    /** Whether the calling thread holds the lock and its hold is valid now. Local. */
    boolean isHeldByCurrentThread();

    /**
     * Returns if the calling thread holds the lock now, and throws otherwise. Local, and cheap enough for every step of
     * a long job.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if it did and has lost it; the exception names the lock
     */
    void ensureHeld();

    /**
     * How long the calling thread's hold stays valid if it is not renewed any more; zero if the thread has no hold.
     * Local: asks no server.
     */
    Duration remainingLease();

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

    /**
     * Acquires the lock for a handle, waiting as {@link #lockInterruptibly()} does. For work that ends on another
     * thread than it began on, or that must know at once when the lock is lost.
     *
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    H acquire() throws InterruptedException;

    /**
     * Acquires the lock for a handle if it becomes free within a time, as {@link #tryLock(Duration)} does.
     *
     * <pre>{@code
     * Optional<LockHandle> acquired = locks.reentrantLock("report").tryAcquire(Duration.ofSeconds(2));
     * if (acquired.isEmpty()) {
     *     return; // Another owner has it.
     * }
     * try (LockHandle held = acquired.get()) {
     *     write(held.fencingToken());
     * }
     * }</pre>
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @return the handle, or nothing if the lock was busy
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if nobody knows whether the lock is busy
     */
    Optional<H> tryAcquire(Duration wait) throws InterruptedException;

    /**
     * Acquires the lock for a handle, without a thread that waits. The future fails with what {@link #acquire()} would
     * throw. A caller that completes the future, as by {@code cancel} or {@code orTimeout}, gives up, and nothing is
     * left in Redis. {@link #callWithHandleAsync} releases the lock by itself; code that takes the handle from the
     * future has to release it even if the next step throws.
     *
     * <p>Stages that depend on the future run on a thread of the client that serves handles, and should not block:
     * while one blocks, other threads serve the others, some milliseconds later. For code that may block use the
     * {@code Async} methods with an executor of your own. A handle that nobody takes from the future is never closed,
     * and is lost as one that nobody refers to.
     *
     * @throws IllegalStateException if the {@link Locks} is closed
     */
    CompletableFuture<H> acquireAsync();

    /**
     * As {@link #acquireAsync()}, if the lock becomes free within a time. If Redis hangs, the future completes at most
     * one command timeout after that time.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @return the handle, or nothing if the lock was busy; the future fails with a {@link LockUnavailableException} if
     *     nobody knows whether it is
     * @throws IllegalStateException if the {@link Locks} is closed
     */
    CompletableFuture<Optional<H>> tryAcquireAsync(Duration wait);

    /**
     * Locks, runs an action, unlocks, and returns the action's result.
     *
     * <pre>{@code
     * int left = lock.callWithLock(() -> stock.take(sku));
     * }</pre>
     *
     * @throws E if the action throws it
     * @throws LockLostException if the lock was lost before the action had ended; if the action threw as well, its
     *     exception is thrown, and this one added to it as suppressed
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}; the action did not run
     */
    default <T extends @Nullable Object, E extends Exception> T callWithLock(LockedCall<T, E> action) throws E {
        Objects.requireNonNull(action, "action");
        lock();
        return HandledWork.callAndUnlock(this, action);
    }

    /**
     * As {@link #callWithLock}, for an action that returns nothing.
     *
     * <pre>{@code
     * lock.runWithLock(() -> store.write(id, amount, lock.fencingToken()));
     * }</pre>
     *
     * @throws E if the action throws it
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}; the action did not run
     */
    default <E extends Exception> void runWithLock(LockedRun<E> action) throws E {
        callWithLock(HandledWork.call(action));
    }

    /**
     * As {@link #callWithLock}, if the lock becomes free within a time.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @return the action's result, or that the lock was busy
     * @throws E if the action throws it
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; the action did not run
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if nobody knows whether the lock is busy; the action did not run
     */
    default <T extends @Nullable Object, E extends Exception> LockedResult<T> tryCallWithLock(
            Duration wait, LockedCall<T, E> action) throws E, InterruptedException {
        Objects.requireNonNull(action, "action");
        return tryLock(wait) ? LockedResult.of(HandledWork.callAndUnlock(this, action)) : LockedResult.busy();
    }

    /**
     * As {@link #tryCallWithLock}, for an action that returns nothing.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @return whether the action ran
     * @throws E if the action throws it
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; the action did not run
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if nobody knows whether the lock is busy; the action did not run
     */
    default <E extends Exception> boolean tryRunWithLock(Duration wait, LockedRun<E> action)
            throws E, InterruptedException {
        return tryCallWithLock(wait, HandledWork.call(action)).ran();
    }

    /**
     * Acquires the lock for a handle, runs an action on the calling thread with the handle, releases the lock, and
     * returns the action's result. If the lock is lost while the action runs, the thread is interrupted: once, and
     * never after the action has ended. For work that an interrupt must not meet, {@link #acquire()} a handle in a
     * {@code try} statement.
     *
     * <pre>{@code
     * int count = locks.reentrantLock("report").callWithHandle(held -> {
     *     rows.forEach(row -> write(row, held.fencingToken()));
     *     return rows.size();
     * });
     * }</pre>
     *
     * @throws E if the action throws it; if the lock was lost as well, the {@link LockLostException} is added to it as
     *     suppressed
     * @throws LockLostException if the lock was lost before the action had ended; even if the action then threw an
     *     {@link InterruptedException} since the loss had interrupted it, which is added as suppressed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits for the lock; the action did
     *     not run, and nothing is left in Redis
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}; the action did not run
     */
    default <T extends @Nullable Object, E extends Exception> T callWithHandle(HandleCall<? super H, T, E> action)
            throws E, InterruptedException {
        Objects.requireNonNull(action, "action");
        return HandledWork.call(acquire(), action);
    }

    /**
     * As {@link #callWithHandle}, for an action that returns nothing.
     *
     * @throws E if the action throws it
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws InterruptedException if the thread is interrupted while it waits for the lock; the action did not run
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}; the action did not run
     */
    default <E extends Exception> void runWithHandle(HandleRun<? super H, E> action) throws E, InterruptedException {
        callWithHandle(HandledWork.call(action));
    }

    /**
     * As {@link #callWithHandle}, if the lock becomes free within a time.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @return the action's result, or that the lock was busy
     * @throws E if the action throws it
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws InterruptedException if the thread is interrupted while it waits for the lock; the action did not run
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if nobody knows whether the lock is busy; the action did not run
     */
    default <T extends @Nullable Object, E extends Exception> LockedResult<T> tryCallWithHandle(
            Duration wait, HandleCall<? super H, T, E> action) throws E, InterruptedException {
        Objects.requireNonNull(action, "action");
        Optional<H> held = tryAcquire(wait);
        return held.isPresent() ? LockedResult.of(HandledWork.call(held.get(), action)) : LockedResult.busy();
    }

    /**
     * As {@link #tryCallWithHandle}, for an action that returns nothing.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @return whether the action ran
     * @throws E if the action throws it
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws InterruptedException if the thread is interrupted while it waits for the lock; the action did not run
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if nobody knows whether the lock is busy; the action did not run
     */
    default <E extends Exception> boolean tryRunWithHandle(Duration wait, HandleRun<? super H, E> action)
            throws E, InterruptedException {
        return tryCallWithHandle(wait, HandledWork.call(action)).ran();
    }

    /**
     * Acquires the lock for a handle, starts work that is given the handle, and releases the lock when the stage of the
     * work has completed, all without a thread that waits.
     *
     * <pre>{@code
     * locks.reentrantLock("report:" + day)
     *         .callWithHandleAsync(held -> client.sendAsync(report(held.fencingToken()), ofString()));
     * }</pre>
     *
     * <p>The future completes once the lock is released, with the value or the failure of the stage; with a
     * {@link LockLostException} if the lock was lost before the stage had completed, which is added as suppressed if
     * the stage failed as well; and with what {@link #acquire()} would throw if the lock was not acquired. A caller
     * that completes the future before the action starts, as by {@code cancel} or {@code orTimeout}, gives up: the
     * action does not run, and nothing is left in Redis. Afterwards that changes nothing: the work goes on, and the
     * lock is released when its stage has completed.
     *
     * @param action starts the work, on a thread of the client that serves handles: it should not block
     * @throws IllegalStateException if the {@link Locks} is closed
     */
    default <T extends @Nullable Object> CompletableFuture<T> callWithHandleAsync(
            Function<? super H, ? extends CompletionStage<T>> action) {
        Objects.requireNonNull(action, "action");
        return HandledWork.start(acquireAsync(), action);
    }

    /**
     * As {@link #callWithHandleAsync}, if the lock becomes free within a time.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @param action starts the work, on a thread of the client that serves handles: it should not block
     * @return the value of the stage, or that the lock was busy
     * @throws IllegalStateException if the {@link Locks} is closed
     */
    default <T extends @Nullable Object> CompletableFuture<LockedResult<T>> tryCallWithHandleAsync(
            Duration wait, Function<? super H, ? extends CompletionStage<T>> action) {
        Objects.requireNonNull(action, "action");
        return HandledWork.tryStart(tryAcquireAsync(wait), action);
    }
}
