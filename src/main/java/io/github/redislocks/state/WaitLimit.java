package io.github.redislocks.state;

/** How long a caller waits, and whether an interrupt ends it. Keeps an interrupt that does not, to be restored. */
public final class WaitLimit {

    private final boolean interruptible;
    private final boolean waits;
    private final long deadlineNanos;
    private final long retryForNanos;
    private boolean interrupted;

    private WaitLimit(boolean interruptible, boolean waits, long deadlineNanos, long retryForNanos) {
        this.interruptible = interruptible;
        this.waits = waits;
        this.deadlineNanos = deadlineNanos;
        this.retryForNanos = retryForNanos;
    }

    /** As long as it takes; through an outage for a time, from its start. */
    public static WaitLimit endless(long retryForNanos) {
        return new WaitLimit(false, true, Long.MAX_VALUE, retryForNanos);
    }

    /** As long as it takes, unless an interrupt ends it; through an outage for a time, from its start. */
    public static WaitLimit interruptible(long retryForNanos) {
        return new WaitLimit(true, true, Long.MAX_VALUE, retryForNanos);
    }

    /** As long as it takes; through an outage for as long as a client waits that sets nothing. */
    public static WaitLimit endless() {
        return endless(Settings.DEFAULTS.retryForNanos());
    }

    /** Until a time, interruptible, and through any outage. */
    public static WaitLimit within(long now, long nanos, long retryForNanos) {
        long deadline = now + Math.max(0, nanos);
        return new WaitLimit(true, true, deadline < 0 ? Long.MAX_VALUE : deadline, retryForNanos);
    }

    /** For an answer, busy or not, which an interrupt does not end. */
    public static WaitLimit forAnswer(long now, long nanos, long retryForNanos) {
        return new WaitLimit(false, false, now + nanos, retryForNanos);
    }

    /** Whether it queues for a lock that is busy. */
    public boolean waits() {
        return waits;
    }

    /** How long one request may take now. */
    public long timeoutNanos(long now, long commandTimeoutNanos) {
        if (!isTimed()) {
            return commandTimeoutNanos;
        }
        long grace = waits ? Timing.GRACE_MILLIS * 1_000_000 : 0;
        return Math.max(1, Math.min(commandTimeoutNanos, deadlineNanos - now + grace));
    }

    public boolean isTimed() {
        return deadlineNanos != Long.MAX_VALUE;
    }

    /** Whether an outage has lasted for longer than is waited through; a wait until a time bears any. */
    public boolean isPast(long outageNanos) {
        return !isTimed() && outageNanos > retryForNanos;
    }

    /** How long an outage may last, from its start, where there is no time until which to wait. */
    public long retryForNanos() {
        return retryForNanos;
    }

    public long remaining(long now) {
        return isTimed() ? deadlineNanos - now : Long.MAX_VALUE;
    }

    /** Takes the interrupt flag of the calling thread; whether the wait has to end because of it. */
    public boolean interrupted() {
        if (Thread.interrupted()) {
            interrupted = true;
        }
        return interruptible && interrupted;
    }

    /** Throws if an interrupt ends the wait. */
    public void throwIfInterrupted() throws InterruptedException {
        if (interrupted()) {
            thrown();
            throw new InterruptedException();
        }
    }

    /** Says that the interrupt is answered by an exception. */
    public void thrown() {
        interrupted = false;
    }

    /** Gives the calling thread its interrupt flag back. */
    public void restore() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
