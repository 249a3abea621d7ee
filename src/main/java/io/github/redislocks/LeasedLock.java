package io.github.redislocks;

import io.github.redislocks.actions.HandledWork;
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
 * A {@link Lock} whose holds have a lease and may be lost. This type has all ways to take a lock. {@link FencedLock} is
 * one lock, {@link MultiLock} several locks as one, {@link RedisReadLock} the lock for readers of a read-write lock.
 * Each has all ways of the table below, and applies the {@link LockOptions} that it was made with.
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
 * <p>A try with a time of zero or less takes only a free lock. Such a try blocks only until Redis answers, for one
 * command timeout at most. If another client keeps the lock without using it, the try makes that client release the
 * lock. A try leaves a fair lock to the threads that wait for it; only {@link #tryLock()} takes the lock before them,
 * as the {@code tryLock()} of the JDK does.
 *
 * <p>Every way that asks Redis throws {@link IllegalStateException} once the {@link Locks} is closed. It throws
 * {@link LockUnavailableException} if Redis stays away, so that nobody knows whether the lock is busy: a call that
 * waits throws after {@code retryFor}, a try throws after its time.
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @param <H> the type of its handles
 * @since 0.1.0
 */
public interface LeasedLock<H extends Handle> extends Lock {

    /**
     * Acquires the lock if it becomes free within the given time, as {@link #tryLock(long, TimeUnit)} does.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if it is unknown whether the lock is busy
     */
    default boolean tryLock(Duration wait) throws InterruptedException {
        return tryLock(TimeUnit.NANOSECONDS.convert(Objects.requireNonNull(wait, "wait")), TimeUnit.NANOSECONDS);
    }

    /** Whether the calling thread holds the lock now, by a valid hold. Asks no server. */
    boolean isHeldByCurrentThread();

    /**
     * Throws an exception if the calling thread does not hold the lock now. Asks no server, and is cheap enough for
     * every step of a long job.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if the calling thread held the lock and has lost it; the exception names the lock
     */
    void ensureHeld();

    /**
     * How long the calling thread's hold stays valid if it is not renewed again; zero if the thread has no valid hold.
     * Asks no server.
     */
    Duration remainingLease();

    /**
     * Whether the previous holder did not release the lock: it crashed, lost the lock, or was forced to give it up. The
     * state that the lock protects may then be half changed. The result may be true although the previous holder
     * released the lock. As long as Redis keeps its data, the result is never false if that holder did not release the
     * lock. An unlock that reached Redis in time counts as a release, even if its reply came so late that the holder
     * reported a loss: the holder had finished by then.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if the calling thread held the lock and has lost it
     */
    boolean previousHolderLost();

    /**
     * Acquires the lock for a handle, and waits for it as {@link #lockInterruptibly()} does. Use a handle for work that
     * begins on one thread and ends on another, or that must know at once when the lock is lost.
     *
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    H acquire() throws InterruptedException;

    /**
     * Acquires the lock for a handle if the lock becomes free within the given time, as {@link #tryLock(Duration)}
     * does.
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
     * @return the handle; empty if the lock was busy
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if it is unknown whether the lock is busy
     */
    Optional<H> tryAcquire(Duration wait) throws InterruptedException;

    /**
     * Acquires the lock for a handle, without blocking a thread. The future fails with the exception that
     * {@link #acquire()} would throw. A caller that completes the future itself, for instance by {@code cancel} or
     * {@code orTimeout}, gives up the acquisition, and nothing is left in Redis. {@link #callWithHandleAsync} releases
     * the lock by itself; code that takes the handle from this future has to release it, even if the next step throws.
     *
     * <p>Stages that depend on the future run on a thread of the client that serves handles, and should not block:
     * while one stage blocks, other threads run the other stages, some milliseconds later. For code that may block, use
     * the {@code Async} methods of the stage with an executor of your own. If nobody takes the handle from the future,
     * the handle is never closed, and is lost as {@link LockLost.Reason#ABANDONED} after a garbage collection.
     *
     * @throws IllegalStateException if the {@link Locks} is closed
     */
    CompletableFuture<H> acquireAsync();

    /**
     * Acquires the lock for a handle as {@link #acquireAsync()} does, if the lock becomes free within the given time.
     * If Redis hangs, the future completes at most one command timeout after that time.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @return a future of the handle, or of empty if the lock was busy; the future fails with a
     *     {@link LockUnavailableException} if it is unknown whether the lock is busy
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
     * @throws LockLostException if the lock was lost before the action had ended; if the action threw as well, the
     *     action's exception is thrown instead, and has this exception as a suppressed exception
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}; the action did not run
     */
    default <T extends @Nullable Object, E extends Exception> T callWithLock(LockedCall<T, E> action) throws E {
        Objects.requireNonNull(action, "action");
        HandledWork.Unlock unlock = this::unlock;
        lock();
        try (unlock) {
            return action.call();
        }
    }

    /**
     * Runs an action under the lock as {@link #callWithLock} does. The action returns nothing.
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
     * Runs an action under the lock as {@link #callWithLock} does, if the lock becomes free within the given time.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @return the action's result, or {@link LockedResult#busy()} if the lock was busy
     * @throws E if the action throws it
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; the action did not run
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if nobody knows whether the lock is busy; the action did not run
     */
    default <T extends @Nullable Object, E extends Exception> LockedResult<T> tryCallWithLock(
            Duration wait, LockedCall<T, E> action) throws E, InterruptedException {
        Objects.requireNonNull(action, "action");
        HandledWork.Unlock unlock = this::unlock;
        if (!tryLock(wait)) {
            return LockedResult.busy();
        }
        try (unlock) {
            return LockedResult.of(action.call());
        }
    }

    /**
     * Runs an action under the lock as {@link #tryCallWithLock} does. The action returns nothing.
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
     * Acquires the lock for a handle, runs an action with the handle on the calling thread, releases the lock, and
     * returns the action's result. If the lock is lost while the action runs, the thread is interrupted once; it is
     * never interrupted after the action has ended. For work that must not be interrupted, call {@link #acquire()} in a
     * {@code try} statement instead.
     *
     * <pre>{@code
     * int count = locks.reentrantLock("report").callWithHandle(held -> {
     *     rows.forEach(row -> write(row, held.fencingToken()));
     *     return rows.size();
     * });
     * }</pre>
     *
     * @throws E if the action throws it; if the lock was lost as well, this exception has the {@link LockLostException}
     *     as a suppressed exception
     * @throws LockLostException if the lock was lost before the action had ended; if the loss interrupted the action,
     *     this exception has the action's {@link InterruptedException} as a suppressed exception
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
     * Runs an action with a handle as {@link #callWithHandle} does. The action returns nothing.
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
     * Runs an action with a handle as {@link #callWithHandle} does, if the lock becomes free within the given time.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @return the action's result, or {@link LockedResult#busy()} if the lock was busy
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
     * Runs an action with a handle as {@link #tryCallWithHandle} does. The action returns nothing.
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
     * Acquires the lock for a handle, starts work with the handle, and releases the lock once the stage that the work
     * returns has completed. No thread is blocked by any of these waits.
     *
     * <pre>{@code
     * locks.reentrantLock("report:" + day)
     *         .callWithHandleAsync(held -> client.sendAsync(report(held.fencingToken()), ofString()));
     * }</pre>
     *
     * <p>The future completes once the lock is released, with the value or the failure of the stage. If the lock was
     * lost before the stage had completed, the future fails with a {@link LockLostException}; if the stage failed as
     * well, the future fails with the stage's failure, which has the {@link LockLostException} as a suppressed
     * exception. If the lock was not acquired, the future fails with the exception that {@link #acquire()} would throw.
     * A caller that completes the future itself before the action starts, for instance by {@code cancel} or
     * {@code orTimeout}, gives up the acquisition: the action does not run, and nothing is left in Redis. Once the
     * action has started, completing the future changes nothing: the work goes on, and the lock is released when the
     * stage of the work has completed.
     *
     * @param action starts the work, which may take long; the action runs on a thread of the client that serves
     *     handles, and must not block
     * @throws IllegalStateException if the {@link Locks} is closed
     */
    default <T extends @Nullable Object> CompletableFuture<T> callWithHandleAsync(
            Function<? super H, ? extends CompletionStage<T>> action) {
        Objects.requireNonNull(action, "action");
        return HandledWork.start(acquireAsync(), action);
    }

    /**
     * Starts work with a handle as {@link #callWithHandleAsync} does, if the lock becomes free within the given time.
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @param action starts the work, which may take long; the action runs on a thread of the client that serves
     *     handles, and must not block
     * @return a future of the stage's value, or of {@link LockedResult#busy()} if the lock was busy
     * @throws IllegalStateException if the {@link Locks} is closed
     */
    default <T extends @Nullable Object> CompletableFuture<LockedResult<T>> tryCallWithHandleAsync(
            Duration wait, Function<? super H, ? extends CompletionStage<T>> action) {
        Objects.requireNonNull(action, "action");
        return HandledWork.tryStart(tryAcquireAsync(wait), action);
    }
}
