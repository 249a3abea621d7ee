package io.github.redislocks;

/** How long a caller waits, and whether an interrupt ends it. Keeps an interrupt that does not, to be restored. */
final class Patience {

    private final boolean interruptible;
    private final boolean waits;
    private final long deadlineNanos;
    private boolean interrupted;

    private Patience(boolean interruptible, boolean waits, long deadlineNanos) {
        this.interruptible = interruptible;
        this.waits = waits;
        this.deadlineNanos = deadlineNanos;
    }

    static Patience endless() {
        return new Patience(false, true, Long.MAX_VALUE);
    }

    static Patience interruptible() {
        return new Patience(true, true, Long.MAX_VALUE);
    }

    /** Until a time, interruptible. */
    static Patience within(long now, long nanos) {
        long deadline = now + Math.max(0, nanos);
        return new Patience(true, true, deadline < 0 ? Long.MAX_VALUE : deadline);
    }

    /** For an answer, busy or not, which an interrupt does not end. */
    static Patience forAnswer(long now, long nanos) {
        return new Patience(false, false, now + nanos);
    }

    /** Whether it queues for a lock that is busy. */
    boolean waits() {
        return waits;
    }

    /** How long one request may take now. */
    long timeoutNanos(long now, long commandTimeoutNanos) {
        if (!isTimed()) {
            return commandTimeoutNanos;
        }
        long grace = waits ? LockOptions.GRACE_MILLIS * 1_000_000 : 0;
        return Math.max(1, Math.min(commandTimeoutNanos, deadlineNanos - now + grace));
    }

    boolean isTimed() {
        return deadlineNanos != Long.MAX_VALUE;
    }

    long remaining(long now) {
        return isTimed() ? deadlineNanos - now : Long.MAX_VALUE;
    }

    /** Takes the interrupt flag of the calling thread; whether the wait has to end because of it. */
    boolean interrupted() {
        if (Thread.interrupted()) {
            interrupted = true;
        }
        return interruptible && interrupted;
    }

    /** Throws if an interrupt ends the wait. */
    void throwIfInterrupted() throws InterruptedException {
        if (interrupted()) {
            thrown();
            throw new InterruptedException();
        }
    }

    /** Says that the interrupt is answered by an exception. */
    void thrown() {
        interrupted = false;
    }

    /** Gives the calling thread its interrupt flag back. */
    void restore() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
