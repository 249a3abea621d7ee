package io.github.redislocks;

import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * A hold that belongs to no thread: any thread that has the handle may use and release it. {@link LockHandle} is a hold
 * of one lock, {@link MultiLockHandle} a hold of several; this type has what both can do. {@link LeasedLock#acquire()}
 * returns one.
 *
 * <pre>{@code
 * try (LockHandle held = locks.reentrantLock("report:" + day).acquire()) {
 *     held.lost().thenAccept(loss -> job.stop());
 *     job.run(held.fencingToken());
 * }
 * }</pre>
 *
 * <p>While a handle holds a lock, no thread and no other handle holds it, in this JVM and in all others, and the other
 * way round. A handle is not reentrant: a thread that acquires a lock whose handle it has waits for itself.
 *
 * <p>Close every handle. A handle that nobody refers to any more is lost ({@link LockLost.Reason#ABANDONED}) at its
 * next renewal after a garbage collection.
 *
 * <p>Later versions may have more methods, with a default.
 *
 * @since 0.1.0
 */
public interface Handle extends AutoCloseable {

    /** The owner of this hold in Redis and in {@link Locks#inspect}: {@code host:pid:random:h7}. */
    String owner();

    /** Whether the hold is valid now. Local. */
    boolean isHeld();

    /**
     * Returns if the hold is valid now, and throws otherwise. Local, and cheap enough for every step of a long job.
     *
     * @throws LockLostException if the hold was lost; the exception names the lock
     * @throws IllegalMonitorStateException if the handle was released
     */
    void ensureHeld();

    /** How long the hold stays valid if it is not renewed any more; zero if it is not valid. Local. */
    Duration remainingLease();

    /**
     * Whether the previous holder never released the lock: it crashed, lost the lock, or was forced to give it up. What
     * the lock protects may then be half changed. False alarms are possible, as {@link LeasedLock#previousHolderLost}
     * says.
     *
     * @throws LockLostException if the hold was lost
     * @throws IllegalMonitorStateException if the handle was released
     */
    boolean previousHolderLost();

    /**
     * Completes with the loss of the hold and its reason: once, and never if the handle is released. An expiry and a
     * Redis that does not answer are reported before another owner can have the lock. {@link FencedLock#forceUnlock} is
     * reported at once, by the client's subscription, which the first call of this method opens; on a quorum, and
     * whatever else removed the hold from Redis, by the next renewal.
     *
     * <p>Stages that depend on this stage must not refer to the handle, which could then never be collected: read names
     * and tokens before. They run on a thread of the client that serves handles, and should not block: while one
     * blocks, other threads serve the other handles, some milliseconds later. For code that may block use the
     * {@code Async} methods with an executor of your own.
     */
    CompletionStage<LockLost> lost();

    /**
     * Releases the hold, which hands each lock on to its next waiter. Blocks for at most one command timeout: if Redis
     * does not answer, the hold ends here, and its release continues in the background. Does nothing if the handle was
     * closed or released before.
     *
     * @throws LockLostException if the hold was lost before; thrown once. Of several lost locks the others are added to
     *     the first as suppressed
     */
    @Override
    void close();

    /**
     * As {@link #close()}, and never throws for a loss.
     *
     * @return true if this call released the hold and nothing was lost; false if the hold was lost or released before
     */
    boolean release();

    /**
     * As {@link #release()}, without waiting. The stage completes on a thread of the library, as that of
     * {@link #lost()}, with the result of {@code release()}.
     */
    CompletionStage<Boolean> releaseAsync();

    /**
     * Releases the hold, but keeps each lock taken, by nobody, until a time after this hold was acquired: what
     * schedulers call <em>at least for</em>. For a job that is to run once, though the clocks and schedules of several
     * JVMs differ:
     *
     * <pre>{@code
     * Optional<LockHandle> turn = locks.reentrantLock("job:invoices").tryAcquire(Duration.ZERO);
     * if (turn.isPresent()) {
     *     try (LockHandle held = turn.get()) {
     *         job.run();
     *         held.releaseAfter(Duration.ofSeconds(50)); // of a minute
     *     }
     * }
     * }</pre>
     *
     * <p>The hold ends for its user at once, as by {@link #release()}, and the process need not live until that time.
     * Redis counts the time, by its clock, from when it granted the lock. A waiter gets the lock when the time has
     * passed, and no loss is reported. If the time has passed when Redis is asked, the lock is free at once.
     * {@link FencedLock#forceUnlock()} frees the lock earlier, {@link LockInspection#keptFor()} shows the rest of the
     * time.
     *
     * @param sinceAcquired up to 24 h
     * @return as {@link #release()}
     * @throws IllegalArgumentException if the time is negative or longer; nothing is released then
     * @throws UnsupportedOperationException on a quorum; nothing is released then
     */
    boolean releaseAfter(Duration sinceAcquired);

    /**
     * As {@link #releaseAfter}, without waiting, as {@link #releaseAsync()}.
     *
     * @throws IllegalArgumentException if the time is negative or longer than 24 h; nothing is released then
     * @throws UnsupportedOperationException on a quorum; nothing is released then
     */
    CompletionStage<Boolean> releaseAfterAsync(Duration sinceAcquired);
}
