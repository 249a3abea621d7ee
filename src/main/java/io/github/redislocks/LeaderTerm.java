package io.github.redislocks;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * A term of a leader: from when it was elected until its {@link LeaderWork} has returned. The lock is released then,
 * and never before. Thread-safe, so that the work may have other threads use it.
 *
 * <p>Later versions may have more methods, with a default.
 *
 * @since 0.1.0
 */
public interface LeaderTerm {

    /** The name of the lock. */
    String name();

    /**
     * The fencing token of this term: greater than those of all terms before it, of any leader.
     *
     * @throws LockLostException if the lock was lost
     * @throws IllegalMonitorStateException if the term has ended
     */
    long fencingToken();

    /**
     * Whether the hold is valid now, even if the work is to stop. False before another can be elected, unless Redis
     * gave the lock away against the rules. Local.
     */
    boolean isHeld();

    /**
     * Returns if the lock can be relied upon now, and throws otherwise. Local, and cheap enough for every step.
     *
     * @throws LockLostException if it was lost
     * @throws IllegalMonitorStateException if the term has ended
     */
    void ensureHeld();

    /** How long the lock can be relied upon if it is not renewed any more; zero if it cannot. Local. */
    Duration remainingLease();

    /**
     * Whether the holder before this one never released the lock, so that what it did may be half done.
     *
     * @throws LockLostException if the lock was lost
     * @throws IllegalMonitorStateException if the term has ended
     */
    boolean previousHolderLost();

    /** Whether the work should end: the lock was lost, or the leadership is being closed. Local. */
    boolean isStopping();

    /**
     * Waits until the work should end, at most for a time: the pause between two steps. Once it has returned true to
     * the thread of the work, that thread is not interrupted any more, so that it can end its work in peace; an
     * interrupt that was to say the same is taken.
     *
     * @param time how long to wait; zero or less to only ask
     * @return whether the work should end
     * @throws InterruptedException if the thread is interrupted for another reason
     */
    boolean awaitStopping(Duration time) throws InterruptedException;

    /**
     * The news that the work should end: completes once, with the loss if the lock was lost, or empty if the leadership
     * is being closed; never if the work ends before. What depends on it runs on the thread that closes, or on a thread
     * that tells handles of the client: it should not block. Neither {@link #awaitStopping} nor the interrupt of the
     * work waits for it.
     */
    CompletionStage<Optional<LockLost>> stopping();
}
