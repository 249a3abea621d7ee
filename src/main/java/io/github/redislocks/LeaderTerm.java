package io.github.redislocks;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * A term of a leader. It begins when the leader is elected, and ends when the {@link LeaderWork} returns. The lock is
 * released after that, never before. Thread-safe: the work may pass the term to other threads.
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface LeaderTerm {

    /** The name of the lock. */
    String name();

    /**
     * The fencing token of this term. It is greater than the tokens of all earlier terms, of any leader.
     *
     * @throws LockLostException if the lock was lost
     * @throws IllegalMonitorStateException if the term has ended
     */
    long fencingToken();

    /**
     * Whether the hold of the lock is valid now. The result is false before another candidate can be elected, except in
     * the cases that docs/SAFETY.md names, such as a failover. It may be true although the work should end. Asks no
     * server.
     */
    boolean isHeld();

    /**
     * Throws an exception if the hold of the lock is not valid now. Asks no server, and is cheap enough for every step.
     *
     * @throws LockLostException if the lock was lost
     * @throws IllegalMonitorStateException if the term has ended
     */
    void ensureHeld();

    /** How long the hold stays valid if it is not renewed again; zero if it is not valid. Asks no server. */
    Duration remainingLease();

    /**
     * Whether the previous holder did not release the lock, so that its work may be half done.
     *
     * @throws LockLostException if the lock was lost
     * @throws IllegalMonitorStateException if the term has ended
     */
    boolean previousHolderLost();

    /** Whether the work should end: the lock was lost, or the leadership is being closed. Asks no server. */
    boolean isStopping();

    /**
     * Waits until the work should end, for the given time at most. Use this method as the pause between two steps of
     * the work. If it returns true to the thread of the work, the library does not interrupt that thread any more, and
     * has cleared an interrupt of its own, so that the thread can finish undisturbed.
     *
     * @param time how long to wait; zero or less to return at once
     * @return whether the work should end
     * @throws InterruptedException if somebody other than the library interrupts the thread
     */
    boolean awaitStopping(Duration time) throws InterruptedException;

    /**
     * A stage that completes when the work should end: with the loss if the lock was lost, or with empty if the
     * leadership is being closed. The stage never completes if the work ends by itself before. Dependent stages run on
     * the thread that closes the leadership, or on a thread of the client that serves handles, and should not block.
     * Neither {@link #awaitStopping} nor the interrupt of the work waits for dependent stages.
     */
    CompletionStage<Optional<LockLost>> stopping();
}
