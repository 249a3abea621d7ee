package io.github.redislocks.state;

/**
 * How long a caller waits, and whether an interrupt ends the wait. An interrupt that does not end the wait is
 * remembered, so that {@link #restore} can set the flag again.
 *
 * <p>The time of a try that does not wait begins with its first request. So a thread that got no processor before that
 * request still has the whole time for the answer.
 */
public final class WaitLimit {

    private final boolean interruptible;
    private final boolean waits;
    private long beganNanos;
    private long deadlineNanos;
    private final long retryForNanos;
    /** Whether the deadline is fixed. Until then {@code deadlineNanos - beganNanos} is the time that a try has. */
    private boolean begun;

    private boolean interrupted;

    private WaitLimit(boolean interruptible, boolean waits, long beganNanos, long deadlineNanos, long retryForNanos) {
        this.interruptible = interruptible;
        this.waits = waits;
        this.beganNanos = beganNanos;
        this.deadlineNanos = deadlineNanos;
        this.retryForNanos = retryForNanos;
        this.begun = waits;
    }

    /** Waits without a time limit; during an outage, until the given time after the start of the outage. */
    public static WaitLimit endless(long retryForNanos) {
        return new WaitLimit(false, true, 0, Long.MAX_VALUE, retryForNanos);
    }

    /** Waits until an interrupt; during an outage, until the given time after the start of the outage. */
    public static WaitLimit interruptible(long retryForNanos) {
        return new WaitLimit(true, true, 0, Long.MAX_VALUE, retryForNanos);
    }

    /** Waits without a time limit; during an outage, until the default time after the start of the outage. */
    public static WaitLimit endless() {
        return endless(Settings.DEFAULTS.retryForNanos());
    }

    /** Waits for the given time or until an interrupt, also during an outage. */
    public static WaitLimit within(long now, long nanos, long retryForNanos) {
        long deadline = now + Math.max(0, nanos);
        return new WaitLimit(true, nanos > 0, now, deadline < 0 ? Long.MAX_VALUE : deadline, retryForNanos);
    }

    /**
     * As {@link #within}; but if {@code nanos} is 0 or less, waits only for the reply whether the lock is busy, for at
     * most {@code answerNanos}.
     */
    public static WaitLimit tryWithin(long now, long nanos, long answerNanos, long retryForNanos) {
        return nanos > 0
                ? within(now, nanos, retryForNanos)
                : new WaitLimit(true, false, 0, answerNanos, retryForNanos);
    }

    /** Waits only for the reply whether the lock is busy; an interrupt does not end the wait. */
    public static WaitLimit forAnswer(long nanos, long retryForNanos) {
        return new WaitLimit(false, false, 0, nanos, retryForNanos);
    }

    /** Restarts the time of a try that does not wait, before the request for its next lock. */
    public void restart() {
        begun = waits;
    }

    /** Begins the time of a try, unless it has begun. */
    public void begin(long now) {
        if (!begun) {
            begun = true;
            deadlineNanos += now - beganNanos;
            beganNanos = now;
        }
    }

    /** When the timed call began; for a try that does not wait, its first request, also after {@link #restart}. */
    public long beganNanos() {
        return beganNanos;
    }

    /** Whether the caller queues for a busy lock. */
    public boolean waits() {
        return waits;
    }

    /** Whether the caller takes a free fair lock although others are in the queue, as {@code tryLock()} does. */
    public boolean barges() {
        return !waits && !interruptible;
    }

    public boolean isInterruptible() {
        return interruptible;
    }

    /** How long one request may take now; 0 or less if there is no time for one. */
    public long timeoutNanos(long now, long commandTimeoutNanos) {
        if (!isTimed()) {
            return commandTimeoutNanos;
        }
        begin(now);
        long grace = waits ? Timing.GRACE_MILLIS * 1_000_000 : 0;
        return Math.min(commandTimeoutNanos, deadlineNanos - now + grace);
    }

    public boolean isTimed() {
        return deadlineNanos != Long.MAX_VALUE;
    }

    /** Whether the caller waits no longer for an outage to end; a timed wait goes on through any outage. */
    public boolean isPast(long outageNanos) {
        return !isTimed() && outageNanos > retryForNanos;
    }

    /** Whether the caller must stop waiting for the end of an outage that has lasted for {@code outageNanos}. */
    public boolean isTooLate(long outageNanos, long now) {
        return isTimed() ? remaining(now) <= 0 : isPast(outageNanos);
    }

    /** How long the caller waits through an outage, counted from its start, if the wait is not timed. */
    public long retryForNanos() {
        return retryForNanos;
    }

    /** The time that is left. The time of a try that does not wait begins with its first request. */
    public long remaining(long now) {
        return isTimed() ? deadlineNanos - (begun ? now : beganNanos) : Long.MAX_VALUE;
    }

    /** Clears the interrupt flag and remembers it; returns whether an interrupt has ended the wait. */
    public boolean interrupted() {
        if (Thread.interrupted()) {
            interrupted = true;
        }
        return interruptible && interrupted;
    }

    /** Throws if an interrupt has ended the wait. */
    public void throwIfInterrupted() throws InterruptedException {
        if (interrupted()) {
            thrown();
            throw new InterruptedException();
        }
    }

    /** Notes that an exception is thrown for the interrupt, so that the flag is not restored. */
    public void thrown() {
        interrupted = false;
    }

    /** Sets the interrupt flag of the calling thread again if an interrupt was remembered. */
    public void restore() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
