package io.github.redislocks;

import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * One possession of one lock that belongs to no thread: whoever has the handle may use and release it, on any thread.
 * {@link Locks#acquire(String)} gets one.
 *
 * <pre>{@code
 * try (LockHandle held = locks.acquire("report:" + day)) {
 *     held.lost().thenAccept(loss -> job.stop());
 *     job.run(held.fencingToken());
 * }
 * }</pre>
 *
 * <p>It is another way to hold the locks of {@link Locks#reentrantLock}: as long as a handle has the lock of a name, no
 * thread and no other handle has it, here and in all other JVMs, and the other way round. A handle is not re-entrant: a
 * thread that acquires a name whose handle it has waits for itself.
 *
 * <p>Close every handle. One that nobody refers to any more is lost ({@link LockLost.Reason#ABANDONED}) at its next
 * renewal after a garbage collection.
 *
 * <p>Later versions may have more methods, with a default.
 *
 * @since 0.1.0
 */
public interface LockHandle extends AutoCloseable {

    /** The name of the lock. */
    String name();

    /** By which Redis and {@link Locks#inspect} know this possession: {@code host:pid:random:h7}. */
    String owner();

    /**
     * The fencing token of this possession: greater than those of all before it, of threads and handles.
     *
     * @throws LockLostException if it was lost
     * @throws IllegalMonitorStateException if it was released
     */
    long fencingToken();

    /** Whether the lock can be relied upon now. Local. */
    boolean isHeld();

    /**
     * Returns if the lock can be relied upon now, and throws otherwise. Local, and cheap enough for every step of a
     * long job.
     *
     * @throws LockLostException if it was lost
     * @throws IllegalMonitorStateException if it was released
     */
    void ensureHeld();

    /** How long the lock can be relied upon if it is not renewed any more; zero if it cannot. Local. */
    Duration remainingLease();

    /**
     * Whether the holder before this one never released the lock: it crashed, lost it, or was forced. What the lock
     * protects may then be half changed. See {@link FencedLock#previousHolderLost}.
     *
     * @throws LockLostException if it was lost
     * @throws IllegalMonitorStateException if it was released
     */
    boolean previousHolderLost();

    /**
     * The news that the lock was lost, with the reason: completes once, and never if it is released. An expiry and a
     * Redis that does not answer are told before another can have the lock. {@link FencedLock#forceUnlock} is told at
     * once, by the client's subscription, which the first call of this method opens; on a quorum, and whatever else
     * removed the hold from Redis, by the next renewal.
     *
     * <p>What depends on the stage must not refer to the handle, which then could never be seen to be dropped: take
     * name and token before. It runs on a thread that tells handles of this client, and should not block: while it
     * does, other threads tell the others, some milliseconds later. Use the {@code Async} methods with an executor of
     * your own for what may.
     */
    CompletionStage<LockLost> lost();

    /**
     * Releases the lock, which hands it on. Blocks for at most one command timeout: if Redis does not answer, the
     * possession ends here, and its release goes on in the background. Does nothing if it has been closed or released
     * before.
     *
     * @throws LockLostException if it was lost before; told once
     */
    @Override
    void close();

    /**
     * As {@link #close()}, and never throws for a loss.
     *
     * @return whether this call released it in good order; false if it had been lost or released before
     */
    boolean release();

    /**
     * As {@link #release()}, without waiting. The stage completes on a thread of the library, as that of
     * {@link #lost()}, with what {@code release()} returns.
     */
    CompletionStage<Boolean> releaseAsync();

    /**
     * Releases the lock, but keeps it taken, by nobody, until a time after this possession was acquired: what
     * schedulers call <em>at least for</em>. For a job that is to run once, though the clocks and schedules of several
     * JVMs differ:
     *
     * <pre>{@code
     * Optional<LockHandle> turn = locks.tryAcquire("job:invoices", Duration.ZERO);
     * if (turn.isPresent()) {
     *     try (LockHandle held = turn.get()) {
     *         job.run();
     *         held.releaseAfter(Duration.ofSeconds(50)); // of a minute
     *     }
     * }
     * }</pre>
     *
     * <p>It ends for its user at once, as by {@link #release()}, and needs nobody who lives until that time. Redis
     * counts it, by its clock, from when it gave the lock. Whoever waits gets the lock when it ends, and is told of no
     * loss. If the time is over when Redis is asked, the lock is free at once. {@link FencedLock#forceUnlock()} ends it
     * earlier, {@link LockInspection#keptFor()} shows it.
     *
     * @param sinceAcquired up to 24 h
     * @return as {@link #release()}
     * @throws IllegalArgumentException if it is negative or longer; nothing is released then
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
