package io.github.redislocks;

import io.github.redislocks.engine.HandledWork;
import io.github.redislocks.engine.RedisLockHandle;
import java.time.Duration;
import java.util.Collection;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A factory of locks by name. {@link RedisLocks} implements it on Redis; tests and frameworks may give an application
 * another implementation, or one that wraps it.
 *
 * <pre>{@code
 * class Shop {
 *     private final Locks locks;
 *
 *     void sell(String sku) throws SoldOutException {
 *         locks.runWithLock("inventory:" + sku, () -> takeOne(sku));
 *     }
 * }
 * }</pre>
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface Locks extends AutoCloseable {

    /**
     * Returns the lock with a name; sends nothing. All lock objects with the same name are one lock, in all JVMs that
     * use the same Redis and key prefix.
     *
     * @param name 1 to 4096 bytes in UTF-8; any well-formed text
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     */
    FencedLock reentrantLock(String name);

    /**
     * Returns the lock with a name, which serves threads of all JVMs in order of arrival. It is the same lock as
     * {@link #reentrantLock(String)} with that name: only the way of waiting differs.
     *
     * @param name as there
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException on a quorum
     */
    FencedLock fairLock(String name);

    /**
     * Returns the lock with a name, with settings of its own. It is the same lock as {@link #reentrantLock(String)}
     * with that name.
     *
     * @param name as there
     * @throws IllegalArgumentException if the name or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException for a fair lock on a quorum
     */
    FencedLock lock(String name, LockOptions options);

    /**
     * Acquires the lock of a name for a handle, waiting as {@link FencedLock#lockInterruptibly()} does. For work that
     * ends on another thread than it began on, or that must know at once when the lock is lost; else use
     * {@link #reentrantLock}.
     *
     * @param name as there
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    default LockHandle acquire(String name) throws InterruptedException {
        return acquire(name, LockOptions.defaults());
    }

    /**
     * As {@link #acquire(String)}, with a lease, fairness and patience of its own.
     *
     * @throws IllegalArgumentException if the name or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     * @throws UnsupportedOperationException for fair options on a quorum
     */
    LockHandle acquire(String name, LockOptions options) throws InterruptedException;

    /**
     * Acquires the lock of a name for a handle if it becomes free within a time.
     *
     * <pre>{@code
     * Optional<LockHandle> held = locks.tryAcquire("report", Duration.ofSeconds(2));
     * if (held.isEmpty()) {
     *     return; // Another has it.
     * }
     * try (LockHandle handle = held.get()) {
     *     write(handle.fencingToken());
     * }
     * }</pre>
     *
     * @param wait how long to wait; zero or less to take a free lock only
     * @return the handle, or nothing if the lock was busy; not knowing is an exception
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if nobody knows whether the lock is busy
     */
    default Optional<LockHandle> tryAcquire(String name, Duration wait) throws InterruptedException {
        return tryAcquire(name, wait, LockOptions.defaults());
    }

    /**
     * As {@link #tryAcquire(String, Duration)}, with a lease and fairness of its own.
     *
     * @throws IllegalArgumentException if the name or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if nobody knows whether the lock is busy
     * @throws UnsupportedOperationException for fair options on a quorum
     */
    Optional<LockHandle> tryAcquire(String name, Duration wait, LockOptions options) throws InterruptedException;

    /**
     * Acquires the lock of a name for a handle, without a thread that waits. {@link #withLockAsync(String, Function)}
     * releases the lock by itself; code that takes the handle has to release it even if the next step throws.
     *
     * @see #acquireAsync(String, LockOptions)
     */
    default CompletableFuture<LockHandle> acquireAsync(String name) {
        return acquireAsync(name, LockOptions.defaults());
    }

    /**
     * As {@link #acquireAsync(String)}, with a lease, fairness and patience of its own. Waits as {@link #acquire} does;
     * whoever completes the future otherwise, as by {@code cancel} or {@code orTimeout}, gives up, and nothing is left
     * in Redis. It completes exceptionally with what {@link #acquire} would throw.
     *
     * <p>What depends on the future runs on a thread of the library that tells handles of this client, and should not
     * block: while it does, other threads tell the others, some milliseconds later. Use the {@code Async} methods with
     * an executor of your own for what may. A handle that nobody takes from the future is never closed, and lost as one
     * that was dropped.
     *
     * @throws IllegalArgumentException if the name or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException for fair options on a quorum
     */
    CompletableFuture<LockHandle> acquireAsync(String name, LockOptions options);

    /**
     * Returns the locks with several names as one, of which a thread has all or none; sends nothing. In whatever order
     * and how often callers name them, they do not wait for each other in a circle.
     *
     * @param names at least one, each as for {@link #reentrantLock}
     * @throws IllegalArgumentException if there is no name, or one cannot work
     * @throws IllegalStateException if this is closed
     */
    MultiLock multiLock(String... names);

    /**
     * Acquires the locks of several names for one handle, all or none, waiting as {@link #acquire(String)} does.
     *
     * <pre>{@code
     * try (MultiLockHandle held = locks.acquireAll(List.of("stock:" + sku, "order:" + id))) {
     *     job.run(held.fencingToken("stock:" + sku), held.fencingToken("order:" + id));
     * }
     * }</pre>
     *
     * @param names at least one, in any order, each as for {@link #reentrantLock}
     * @throws IllegalArgumentException if there is no name, or one cannot work
     * @throws IllegalStateException if this is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    default MultiLockHandle acquireAll(Collection<String> names) throws InterruptedException {
        return acquireAll(names, LockOptions.defaults());
    }

    /**
     * As {@link #acquireAll(Collection)}, with a lease, fairness and patience of its own. Locks that are had are
     * renewed while others are waited for: a {@code fixedLease} counts from when all were had.
     *
     * @throws IllegalArgumentException if there is no name, or one or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     * @throws UnsupportedOperationException for fair options on a quorum
     */
    MultiLockHandle acquireAll(Collection<String> names, LockOptions options) throws InterruptedException;

    /**
     * Acquires the locks of several names for one handle, all or none, if all can be had within a time.
     *
     * @param names as for {@link #acquireAll(Collection)}
     * @param wait how long to wait for all of them together; zero or less to take free locks only
     * @return the handle, or nothing if one of the locks was busy; not knowing is an exception
     * @throws IllegalArgumentException if there is no name, or one cannot work
     * @throws IllegalStateException if this is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if nobody knows whether one of the locks is busy
     */
    default Optional<MultiLockHandle> tryAcquireAll(Collection<String> names, Duration wait)
            throws InterruptedException {
        return tryAcquireAll(names, wait, LockOptions.defaults());
    }

    /**
     * As {@link #tryAcquireAll(Collection, Duration)}, with a lease and fairness of its own, as
     * {@link #acquireAll(Collection, LockOptions)}.
     *
     * @throws IllegalArgumentException if there is no name, or one or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws LockUnavailableException if nobody knows whether one of the locks is busy
     * @throws UnsupportedOperationException for fair options on a quorum
     */
    Optional<MultiLockHandle> tryAcquireAll(Collection<String> names, Duration wait, LockOptions options)
            throws InterruptedException;

    /**
     * Shows who holds the lock of a name and who waits for it, over all JVMs. Asks Redis.
     *
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    LockInspection inspect(String name);

    /**
     * Runs an action under the lock with a name, as {@link FencedLock#withLock}.
     *
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws LockUnavailableException if Redis stays away
     */
    default <T extends @Nullable Object> T withLock(String name, Supplier<T> action) {
        return reentrantLock(name).withLock(action);
    }

    /**
     * Runs an action that may throw a checked exception under the lock with a name, as {@link FencedLock#callWithLock}.
     *
     * @throws IllegalArgumentException if the name cannot work
     * @throws E if the action throws it
     * @throws IllegalStateException if this is closed
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws LockUnavailableException if Redis stays away
     */
    default <T extends @Nullable Object, E extends Exception> T callWithLock(String name, LockedCall<T, E> action)
            throws E {
        return reentrantLock(name).callWithLock(action);
    }

    /**
     * Runs an action that returns nothing under the lock with a name, as {@link FencedLock#runWithLock}.
     *
     * @throws IllegalArgumentException if the name cannot work
     * @throws E if the action throws it
     * @throws IllegalStateException if this is closed
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws LockUnavailableException if Redis stays away
     */
    default <E extends Exception> void runWithLock(String name, LockedRun<E> action) throws E {
        reentrantLock(name).runWithLock(action);
    }

    /**
     * Acquires the lock of a name for a handle, has the calling thread do work that is given the handle, releases the
     * lock, and returns what the work returned.
     *
     * @see #callWithHandle(String, LockOptions, HandleCall)
     * @throws E if the action throws it
     * @throws InterruptedException if the thread is interrupted while it waits for the lock; the action did not run
     */
    default <T extends @Nullable Object, E extends Exception> T callWithHandle(String name, HandleCall<T, E> action)
            throws E, InterruptedException {
        return callWithHandle(name, LockOptions.defaults(), action);
    }

    /**
     * As {@link #callWithHandle(String, HandleCall)}, with a lease, fairness and patience of its own, and, by
     * {@link LockOptions#interruptOnLoss}, an interrupt of the calling thread if the lock is lost while the action
     * runs: once, and not after the action has ended.
     *
     * <pre>{@code
     * locks.callWithHandle("report", LockOptions.defaults().interruptOnLoss(true), held -> {
     *     rows.forEach(row -> write(row, held.fencingToken()));
     *     return rows.size();
     * });
     * }</pre>
     *
     * @throws E if the action throws it; if the lock was lost as well, the {@link LockLostException} is added to it as
     *     suppressed
     * @throws LockLostException if the lock was lost before the action had ended; also if the action then threw an
     *     {@link InterruptedException} since the loss had interrupted it, which is added as suppressed
     * @throws InterruptedException if the thread is interrupted on entry or while it waits for the lock; the action did
     *     not run, and nothing is left in Redis
     * @throws IllegalArgumentException if the name or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}; the action did not run
     * @throws UnsupportedOperationException for fair options on a quorum
     */
    default <T extends @Nullable Object, E extends Exception> T callWithHandle(
            String name, LockOptions options, HandleCall<T, E> action) throws E, InterruptedException {
        Objects.requireNonNull(action, "action");
        Function<LockHandle, CompletionStage<LockLost>> losses =
                options.isInterruptedOnLoss() ? RedisLockHandle::firstNews : null;
        return HandledWork.call(acquire(name, options.interruptOnLoss(false)), losses, action);
    }

    /**
     * As {@link #callWithHandle(String, HandleCall)}, for work that returns nothing.
     *
     * @throws E if the action throws it
     * @throws InterruptedException if the thread is interrupted while it waits for the lock; the action did not run
     */
    default <E extends Exception> void runWithHandle(String name, HandleRun<E> action) throws E, InterruptedException {
        runWithHandle(name, LockOptions.defaults(), action);
    }

    /**
     * As {@link #callWithHandle(String, LockOptions, HandleCall)}, for work that returns nothing.
     *
     * @throws E if the action throws it
     * @throws InterruptedException if the thread is interrupted while it waits for the lock; the action did not run
     */
    default <E extends Exception> void runWithHandle(String name, LockOptions options, HandleRun<E> action)
            throws E, InterruptedException {
        Objects.requireNonNull(action, "action");
        callWithHandle(name, options, held -> {
            action.run(held);
            return Boolean.TRUE;
        });
    }

    /**
     * Acquires the lock of a name, begins work that is given its handle, and releases the lock when the stage of the
     * work has ended, all without a thread that waits.
     *
     * @see #withLockAsync(String, LockOptions, Function)
     */
    default <T extends @Nullable Object> CompletableFuture<T> withLockAsync(
            String name, Function<? super LockHandle, ? extends CompletionStage<T>> action) {
        return withLockAsync(name, LockOptions.defaults(), action);
    }

    /**
     * As {@link #withLockAsync(String, Function)}, with a lease, fairness and patience of its own.
     *
     * <pre>{@code
     * locks.withLockAsync("report:" + day, held -> client.sendAsync(report(held.fencingToken()), ofString()));
     * }</pre>
     *
     * <p>The future completes once the lock is released, with the value of the stage or what it failed with; with a
     * {@link LockLostException} if the lock was lost before the stage had ended, which is added as suppressed if the
     * stage failed as well; and with what {@link #acquire} would throw if there was no lock. Whoever completes the
     * future before the action begins, as by {@code cancel} or {@code orTimeout}, gives up: the action does not run,
     * and nothing is left in Redis. Afterwards it changes nothing: the work goes on, and the lock is released when its
     * stage has ended.
     *
     * @param action begins the work, on a thread of the library that tells handles of this client: it should not block
     * @throws IllegalArgumentException if the name or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException for fair options on a quorum
     */
    default <T extends @Nullable Object> CompletableFuture<T> withLockAsync(
            String name, LockOptions options, Function<? super LockHandle, ? extends CompletionStage<T>> action) {
        Objects.requireNonNull(action, "action");
        return HandledWork.begin(acquireAsync(name, options), action);
    }

    /**
     * Runs for leader of a name, with default options: {@link #leadership(String, LeaderWork, LeaderOptions)}.
     *
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     */
    default Leadership leadership(String name, LeaderWork work) {
        return leadership(name, work, LeaderOptions.defaults());
    }

    /**
     * Runs for leader of a name until it is closed: whenever it has the lock of that name, the work leads for a term,
     * on a thread of its own. Returns at once. At most one candidate leads at a time, here and in all other JVMs; those
     * that wait need no thread.
     *
     * <p>The lock is the same as {@link #reentrantLock} has under that name. Two candidates of one name in one process
     * are rivals like any others.
     *
     * @throws IllegalArgumentException if the name or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException for a fair lock on a quorum
     */
    default Leadership leadership(String name, LeaderWork work, LeaderOptions options) {
        return Leadership.run(
                name, work, options, Leadership.SHARED, () -> acquireAsync(name, options.lock()), this::isClosed);
    }

    /** The id of this client in Redis and in the log: {@code host:pid:random}, or {@code host:pid:name.random}. */
    String clientId();

    /** Whether {@link #close()} has begun. */
    boolean isClosed();

    /**
     * Closes after the work under locks has ended: refuses at once to acquire locks, also to threads that wait; lets
     * threads that hold locks finish within the given time; and then does what {@link #close()} does. For a service
     * that stops: holders finish, and no hold is lost unless its work takes longer. The work of leaders is told to
     * stop.
     *
     * @param drain how long holders may go on; zero is the same as {@link #close()}
     * @throws IllegalArgumentException if it is negative
     */
    void close(Duration drain);

    /**
     * Ends all work: refuses new calls, wakes waiting ones with {@link IllegalStateException}, reports what is still
     * held as lost ({@link LockLost.Reason#CLOSED}), and releases it. A second call, also at the same time, returns
     * when the first has done that.
     */
    @Override
    void close();
}
