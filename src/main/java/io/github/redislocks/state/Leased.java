package io.github.redislocks.state;

import io.github.redislocks.LockLost;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * A possession that Redis gave for a lease, and what Redis may still have of it. The validity deadline is computed from
 * the requests that Redis has answered. A request without an answer may have given a lease too, or may still give one,
 * and no later answer takes that lease back. Therefore each request for a lease is noted before it is sent:
 *
 * <pre>
 *   ask       the request is open; if the asker's last request was still open, that one may run late
 *   answered  Redis gave the lease, and the deadline was extended: the request is closed. An open request of
 *             the other asker is closed too, and may run late; but the owner's answer closes no renewal
 *   refused   Redis gave nothing: the request is closed
 * </pre>
 *
 * <p>A request that fails stays open, so nothing need be noted after a failure or an error. If a possession is lost at
 * its deadline, the open requests determine the reason of the loss. The open requests and those that may run late
 * determine whether the possession must be ended in Redis. All of this is one number, changed only by compare-and-set,
 * since both askers may ask at the same time.
 */
public abstract class Leased extends Held {

    /** A sender of requests for leases, which has one request under way at a time. */
    public enum Asker {
        /** The owner's thread, which re-enters, or begins a fixed lease. */
        OWNER(1 << 28),
        /** The watchdog, which renews, or confirms a grant. */
        WATCHDOG(1 << 29);

        /** The bit of {@code asked} that is set as long as a request is open. */
        private final int open;

        Asker(int open) {
            this.open = open;
        }
    }

    /** The bits with the longest lease that was asked for, in milliseconds. No lease is longer than 24 h. */
    private static final int LEASE = Asker.OWNER.open - 1;

    private static final int OPEN = Asker.OWNER.open | Asker.WATCHDOG.open;
    /** The bit of {@code asked} that is set once a request may run late. */
    private static final int LATE = 1 << 30;
    /** The bit of {@code asked} that is set once Redis has given a whole lease, not only a claim. */
    private static final int WHOLE = 1 << 31;

    private static final AtomicIntegerFieldUpdater<Leased> ASKED =
            AtomicIntegerFieldUpdater.newUpdater(Leased.class, "asked");

    private volatile int asked;
    /** The longest lease for which the owner got the lock. Used by the owner's thread only. */
    private int leaseMillis;

    Leased(Attempt attempt, Attempt.Grant grant, long acquiredNanos) {
        super(attempt.owner, grant.token(), grant.previousLost(), acquiredNanos);
        this.leaseMillis = Math.toIntExact(attempt.leaseMillis);
        this.asked = grant.confirmed() ? WHOLE : 0;
    }

    /**
     * Notes a request for a lease. Call before the request is sent. Returns false if the possession has ended: then the
     * request must not be sent, since nothing would end the lease that it gives.
     */
    public final boolean ask(Asker by, long millis) {
        int old;
        int next;
        do {
            old = asked;
            int late = (old & by.open) == 0 ? 0 : LATE;
            next = (old & ~LEASE) | late | by.open | Math.max(old & LEASE, Math.toIntExact(millis));
        } while (!ASKED.compareAndSet(this, old, next));
        // Check the state after noting the request: a thread that ends the possession from now on sees the request.
        return isOpen();
    }

    /** Notes that Redis gave the lease and the deadline was extended; {@code once}: the request was sent only once. */
    public final void answered(Asker by, boolean once) {
        // If the hold is renewed, the answer to a re-entry says nothing about open renewals.
        int closed = by == Asker.OWNER && isRenewed() ? by.open : OPEN;
        int old;
        int next;
        do {
            old = asked;
            int late = once && (old & closed & ~by.open) == 0 ? 0 : LATE;
            next = (old & ~closed) | late | WHOLE;
        } while (!ASKED.compareAndSet(this, old, next));
    }

    /** Notes that Redis gave nothing. */
    public final void refused(Asker by) {
        int old;
        do {
            old = asked;
        } while (!ASKED.compareAndSet(this, old, old & ~by.open));
    }

    /**
     * Returns true if a request that should have extended the deadline is open. Once a fixed lease is whole, the
     * watchdog only asks whether Redis still has it.
     */
    final boolean isUnanswered() {
        int now = asked;
        boolean isExtended = isRenewed() || (now & WHOLE) == 0;
        return (now & (isExtended ? OPEN : Asker.OWNER.open)) != 0;
    }

    /** Returns true if Redis may have given a lease that ends after the deadline, or may still do so. */
    final boolean mayOutlast() {
        return (asked & (OPEN | LATE)) != 0;
    }

    /** The longest lease that Redis has given, or may have given for a request without a reply. */
    public final long longestLeaseMillis() {
        return Math.max(leaseMillis, asked & LEASE);
    }

    public final long leaseMillis() {
        return leaseMillis;
    }

    /** Notes that the owner got the lock for a lease, and returns that lease. Called by the owner's thread. */
    final int got(long wantedMillis) {
        int got = Math.toIntExact(leaseAt(acquiredNanos, wantedMillis));
        leaseMillis = Math.max(leaseMillis, got);
        return got;
    }

    /** Returns true if the watchdog renews the possession. */
    public abstract boolean isRenewed();

    /** The lease to ask for at {@code nanos}: shorter if the possession may not last for the wanted one. */
    public long leaseAt(long nanos, long wantedMillis) {
        return wantedMillis;
    }

    /** Returns true if no further lease can make the possession last longer than its present one. */
    boolean isLastLease() {
        return false;
    }

    /** Notes the end of a lease that Redis has given. */
    void leasedUntil(long nanos) {}

    /** Moves the deadline forward, never back; false if it has passed or the possession has ended. */
    public final boolean extend(long now, long deadlineNanos) {
        while (true) {
            long old = state();
            if (old <= now) {
                return false;
            }
            if (old >= deadlineNanos || changeState(old, deadlineNanos)) {
                return true;
            }
        }
    }

    /** As {@link #extend(long, long)}, as far as a lease that Redis has given allows. */
    public final boolean extend(long now, long sentNanos, long leaseMillis) {
        boolean valid = extend(now, sentNanos + Timing.validityNanos(leaseMillis));
        if (valid) {
            leasedUntil(sentNanos + leaseMillis * 1_000_000);
            owner.confirmed(sentNanos);
        }
        return valid;
    }

    /** Returns true if the deadline is far enough away for a lease that begins now. */
    final boolean lasts(long now, long wantedMillis) {
        return isValid(now) && (isLastLease() || deadlineNanos() >= now + Timing.validityNanos(wantedMillis));
    }

    /** Ends the possession as lost if its deadline has passed; returns true for the one caller that ended it. */
    public boolean loseIfPast(long now) {
        return lose(now, reasonPast());
    }

    /** Ends the possession as lost: its release found nothing. If {@code past}, the deadline explains that. */
    public final boolean releaseFailed(boolean past) {
        return lostInRelease(past ? reasonPast() : LockLost.Reason.TAKEN);
    }

    /** The reason of a loss at the deadline. */
    private LockLost.Reason reasonPast() {
        if (isLastLease()) {
            return LockLost.Reason.HELD_TOO_LONG;
        }
        return isUnanswered() ? LockLost.Reason.UNCONFIRMED : LockLost.Reason.EXPIRED;
    }

    /**
     * Returns true if the possession was lost at its deadline, Redis may have it for longer, and no release ends it
     * there. After a loss because of {@code maxHold} this is false, since the last lease ends by itself.
     */
    public final boolean isToEndInRedis() {
        LockLost.Reason reason = lossReason();
        return (reason == LockLost.Reason.EXPIRED || reason == LockLost.Reason.UNCONFIRMED)
                && mayOutlast()
                && !isReleasedTooLate();
    }
}
