package io.github.redislocks.state;

import org.jspecify.annotations.Nullable;

/**
 * A hold that may last for a time only, counted from when its owner got it, or got the last of several: no lease is
 * asked for beyond that. A class of its own, so that other holds have no field for it.
 */
public final class LimitedHold extends Hold {

    private static final long MILLI = 1_000_000;
    /** In place of a beginning. */
    private static final long NOT_YET = Long.MAX_VALUE;

    private final long maxHoldMillis;
    /** From when on the time counts. */
    private volatile long beganNanos;
    /** Whether a lease was given that lasts to the end. Set after the deadline, which the reader finds in the past. */
    private volatile boolean lastLease;
    /** Used by the watchdog only. */
    private boolean warned;

    public LimitedHold(Attempt attempt, Attempt.Grant grant, long now, long nextRenewalNanos, @Nullable Hold below) {
        super(attempt, grant, now, nextRenewalNanos, below);
        this.maxHoldMillis = attempt.maxHoldMillis;
        this.beganNanos = now;
        // The lease counts from its request, a little before `now`. So a lease as long as maxHold is the last one.
        this.lastLease = grant.confirmed() && attempt.leaseMillis >= maxHoldMillis;
    }

    @Override
    public long endNanos() {
        long began = beganNanos;
        return began == NOT_YET ? NOT_YET : began + maxHoldMillis * MILLI;
    }

    @Override
    public void waitsForOthers() {
        // Only for a new hold. If this is a re-entry, the thread already works under the hold, and its time goes on.
        if (count() == 1) {
            beganNanos = NOT_YET;
            lastLease = false;
        }
    }

    @Override
    public void hasOthers(long nanos) {
        // The present lease need not be cut: it was asked for before, and is at most as long as the time that begins
        // now.
        if (beganNanos == NOT_YET) {
            beganNanos = nanos;
        }
    }

    @Override
    public long maxHoldMillis() {
        return maxHoldMillis;
    }

    @Override
    public long leaseAt(long nanos, long wantedMillis) {
        long began = beganNanos;
        long left = began == NOT_YET ? maxHoldMillis : (began + maxHoldMillis * MILLI - nanos) / MILLI;
        return Math.max(1, Math.min(wantedMillis, left));
    }

    @Override
    void leasedUntil(long nanos) {
        // A lease has whole milliseconds, so the last one may end up to a millisecond early.
        lastLease |= nanos > endNanos() - MILLI;
    }

    @Override
    boolean isLastLease() {
        return lastLease;
    }

    @Override
    public long warningNanos() {
        long began = beganNanos;
        return warned || began == NOT_YET ? Long.MAX_VALUE : began + maxHoldMillis * MILLI / 3 * 2;
    }

    @Override
    public void warned() {
        warned = true;
    }
}
