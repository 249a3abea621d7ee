package io.github.redislocks.shared;

import io.github.redislocks.state.Hold;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * A share that Redis has granted. Its state is one number:
 *
 * <pre>
 *   open     every thread may enter
 *   idle     closed since nobody used it; opened again if a thread turns out to be inside
 *   closed   a writer waits, or the client is being closed; opened again once no writer waits any more
 *   ending   nobody is inside, and one thread ends the share in Redis
 * </pre>
 *
 * <p>A thread enters by writing the share into its cell, and then reads the state. A thread that closes the share
 * writes the state, and then reads the cells. So at least one of the two sees what the other has written.
 */
final class Share {

    private static final int OPEN = 0;
    private static final int IDLE = 1;
    private static final int CLOSED = 2;
    private static final int ENDING = 3;
    private static final int STATES = 3;
    /** Added each time the share is opened again, so that a thread which saw it closed before cannot end it. */
    private static final int REOPENED = 4;

    private static final AtomicIntegerFieldUpdater<Share> STATE =
            AtomicIntegerFieldUpdater.newUpdater(Share.class, "state");

    final Hold hold;
    private volatile int state = OPEN;
    /** When the share was last closed for a writer. */
    private volatile long closedNanos;
    /** When a thread was last seen inside. Used by the watchdog only. */
    private long usedNanos;
    /** When the watchdog looks for readers next, and the pause after that look. Used by the watchdog only. */
    private long lookNanos;

    private long pauseNanos;
    /** When the watchdog looked last. Used by the watchdog only. */
    private long lookedNanos;

    Share(Hold hold, long lingerNanos) {
        this.hold = hold;
        this.usedNanos = hold.acquiredNanos;
        this.pauseNanos = lingerNanos;
    }

    /** Returns true if this share is the given hold in Redis. */
    @SuppressWarnings("ReferenceEquality")
    boolean isOf(Hold other) {
        return hold == other;
    }

    boolean isOpen() {
        return (state & STATES) == OPEN;
    }

    boolean isEnding() {
        return (state & STATES) == ENDING;
    }

    /** Returns true if a thread that has written the share into its cell is inside. */
    boolean admits() {
        return isOpen() && hold.isOpen();
    }

    /** Closes the share for a writer, unless it is closed or ends already. Call again for each recall. */
    void close(long now) {
        // Write the time first: a thread that sees the share closed must also see the time.
        closedNanos = now;
        int old = state;
        // Change the state of a closed share, too: a thread that is about to open it may have read the time before.
        while ((old & STATES) <= CLOSED && !STATE.compareAndSet(this, old, (old & ~STATES) + CLOSED + REOPENED)) {
            old = state;
        }
    }

    /** Closes the share since nobody seems to use it; returns false if it is not open. */
    boolean closeIdle() {
        int old = state;
        return (old & STATES) == OPEN && STATE.compareAndSet(this, old, old + IDLE);
    }

    /** Opens the share again after {@link #closeIdle}; returns false if another thread has closed or ended it. */
    boolean reopenIdle() {
        int old = state;
        return (old & STATES) == IDLE && STATE.compareAndSet(this, old, old - IDLE + REOPENED);
    }

    /**
     * Opens the share again, since the writer for which it was closed does not wait any more. Returns false if the
     * share is not closed for a writer, or was closed after {@code sentNanos}.
     *
     * @param sentNanos the sending time of the request to which Redis answered that no writer waits
     */
    boolean reopen(long sentNanos) {
        int old = state;
        return (old & STATES) == CLOSED
                && sentNanos - closedNanos > 0
                && STATE.compareAndSet(this, old, old - CLOSED + REOPENED);
    }

    /** When the share was last closed for a writer. */
    long closedNanos() {
        return closedNanos;
    }

    /** The state, to be passed to {@link #beginEnd} after a look for threads inside. */
    int seen() {
        return state;
    }

    /**
     * Begins the end of a closed share in which nobody is; returns true for the one caller that has to end it.
     *
     * @param seen the state before the caller has looked for threads inside
     */
    boolean beginEnd(int seen) {
        int now = seen & STATES;
        return (now == IDLE || now == CLOSED) && STATE.compareAndSet(this, seen, (seen & ~STATES) + ENDING);
    }

    /** When a thread was last seen inside. */
    long usedNanos() {
        return usedNanos;
    }

    /** Notes that a thread was inside at {@code nanos}. */
    void used(long nanos) {
        usedNanos = Math.max(usedNanos, nanos);
    }

    /** Returns true if nobody has used the share since the last look. Called by the watchdog only. */
    boolean isIdle() {
        return usedNanos < lookedNanos;
    }

    /** When to look for readers next. */
    long lookNanos() {
        return lookNanos;
    }

    /**
     * Sets when to look for readers next: soon if nobody has used the share since the last look, else after twice the
     * time of the last pause.
     */
    void lookAgain(long now, long lingerNanos, long mostNanos) {
        if (isIdle()) {
            lookNanos = Math.min(usedNanos + lingerNanos, now + mostNanos);
        } else {
            lookNanos = now + pauseNanos;
            pauseNanos = Math.min(2 * pauseNanos, mostNanos);
        }
        lookedNanos = now;
    }
}
