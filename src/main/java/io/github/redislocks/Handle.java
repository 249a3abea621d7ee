package io.github.redislocks;

import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * A hold that belongs to no thread: any thread that has the handle may use and release it. {@link LeasedLock#acquire()}
 * returns one. {@link LockHandle} is a hold of one lock, {@link MultiLockHandle} a hold of several locks.
 *
 * <pre>{@code
 * try (LockHandle held = locks.reentrantLock("report:" + day).acquire()) {
 *     held.lost().thenAccept(loss -> job.stop());
 *     job.run(held.fencingToken());
 * }
 * }</pre>
 *
 * <p>While a handle holds a lock, no thread and no other handle can hold this lock, in any JVM. A handle is not
 * reentrant: a thread that has the handle of a lock and acquires the same lock again deadlocks with itself.
 *
 * <p>Close every handle. If nobody refers to a handle any more, its hold is lost ({@link LockLost.Reason#ABANDONED}) at
 * the next renewal after a garbage collection.
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface Handle extends AutoCloseable {

    /** The owner of this hold in Redis and in {@link Locks#inspect}: {@code host:pid:random:h7}. */
    String owner();

    /** Whether the hold is valid now. Asks no server. */
    boolean isHeld();

    /**
     * Throws an exception if the hold is not valid now. Asks no server, and is cheap enough for every step of a long
     * job.
     *
     * @throws LockLostException if the hold was lost; the exception names the lock
     * @throws IllegalMonitorStateException if the handle was released
     */
    void ensureHeld();

    /** How long the hold stays valid if it is not renewed again; zero if it is not valid. Asks no server. */
    Duration remainingLease();

    /**
     * Whether the previous holder did not release the lock: it crashed, lost the lock, or was forced to give it up. The
     * state that the lock protects may then be half changed. The result may be true although the previous holder
     * released the lock: see {@link LeasedLock#previousHolderLost}.
     *
     * @throws LockLostException if the hold was lost
     * @throws IllegalMonitorStateException if the handle was released
     */
    boolean previousHolderLost();

    /**
     * A stage that completes with the loss of the hold; it never completes if the handle is released. If the lease runs
     * out or Redis does not answer, the stage completes before another owner can have the lock. After
     * {@link FencedLock#forceUnlock} the stage completes at once, since the first call of this method opens a
     * subscription of the client. On a quorum, and after any other removal of the hold from Redis, it completes at the
     * next renewal.
     *
     * <p>Stages that depend on this stage must not refer to the handle, since it would never be garbage-collected then:
     * read the names and tokens of the handle before. Dependent stages run on a thread of the client that serves
     * handles, and should not block: while one stage blocks, other threads run the other stages, some milliseconds
     * later. For code that may block, use the {@code Async} methods of the stage with an executor of your own.
     */
    CompletionStage<LockLost> lost();

    /**
     * Releases the hold, and hands each of its locks to the next waiter. Blocks for at most one command timeout: if
     * Redis does not answer, the hold ends in this client, and its release continues in the background. Does nothing if
     * the handle was closed or released before.
     *
     * @throws LockLostException if the hold was lost before; only the first call throws. If several locks were lost,
     *     the other losses are suppressed exceptions of the first
     */
    @Override
    void close();

    /**
     * Releases the hold as {@link #close()} does, but reports a loss by the result instead of an exception.
     *
     * @return true if this call released the hold and nothing was lost; false if the hold was lost or released before
     */
    boolean release();

    /**
     * Releases the hold as {@link #release()} does, but without waiting. The stage completes with the result of
     * {@code release()}. Dependent stages run on the same threads as those of {@link #lost()}, and should not block.
     */
    CompletionStage<Boolean> releaseAsync();

    /**
     * Releases the hold, but keeps each lock unavailable until the given time after its acquisition, although nobody
     * holds the lock: schedulers call this <em>at least for</em>. So a job runs once even if the clocks or schedules of
     * several JVMs differ:
     *
     * <pre>{@code
     * Optional<LockHandle> turn = locks.reentrantLock("job:invoices").tryAcquire(Duration.ZERO);
     * if (turn.isPresent()) {
     *     try (LockHandle held = turn.get()) {
     *         job.run();
     *         held.releaseAfter(Duration.ofSeconds(50)); // the job is due once a minute
     *     }
     * }
     * }</pre>
     *
     * <p>The hold itself ends at once, as by {@link #release()}, and the process need not live until the lock is free.
     * Redis counts the time by its own clock, from when it granted the lock. A waiter gets the lock when the time is
     * over, and no loss is reported. If the time is already over when Redis receives the request, the lock is free at
     * once. {@link FencedLock#forceUnlock()} frees the lock earlier; {@link LockInspection#keptFor()} shows the time
     * that is left.
     *
     * @param sinceAcquired the time from the acquisition until the lock is free, up to 24 h
     * @return true if this call released the hold and nothing was lost, as {@link #release()}
     * @throws IllegalArgumentException if the time is negative or longer than 24 h; nothing is released then
     * @throws UnsupportedOperationException on a quorum; nothing is released then
     */
    boolean releaseAfter(Duration sinceAcquired);

    /**
     * Releases the hold as {@link #releaseAfter} does, but without waiting. The stage completes as the stage of
     * {@link #releaseAsync()} does.
     *
     * @throws IllegalArgumentException if the time is negative or longer than 24 h; nothing is released then
     * @throws UnsupportedOperationException on a quorum; nothing is released then
     */
    CompletionStage<Boolean> releaseAfterAsync(Duration sinceAcquired);
}
