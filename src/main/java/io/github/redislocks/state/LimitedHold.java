package io.github.redislocks.state;

import org.jspecify.annotations.Nullable;

/**
 * A hold that may last for a time only, counted from when its owner got it: no lease is asked for beyond that. A class
 * of its own, so that other holds have no field for it.
 */
public final class LimitedHold extends Hold {

    private static final long MILLI = 1_000_000;

    private final long maxHoldMillis;
    /** Whether a lease was given that lasts to the end. Set after the deadline, which the reader finds in the past. */
    private volatile boolean lastLease;
    /** Used by the watchdog only. */
    private boolean warned;

    public LimitedHold(Attempt attempt, Attempt.Grant grant, long now, long nextRenewalNanos, @Nullable Hold below) {
        super(attempt, grant, now, nextRenewalNanos, below);
        this.maxHoldMillis = attempt.maxHoldMillis;
        // It counts from when the grant was asked for, which is a little before the owner got it.
        this.lastLease = grant.confirmed() && attempt.leaseMillis >= maxHoldMillis;
    }

    private long endNanos() {
        return acquiredNanos + maxHoldMillis * MILLI;
    }

    @Override
    public long maxHoldMillis() {
        return maxHoldMillis;
    }

    @Override
    public long leaseAt(long nanos, long wantedMillis) {
        return Math.max(1, Math.min(wantedMillis, (endNanos() - nanos) / MILLI));
    }

    @Override
    void leasedUntil(long nanos) {
        // A lease is of whole milliseconds.
        lastLease |= nanos > endNanos() - MILLI;
    }

    @Override
    boolean isLastLease() {
        return lastLease;
    }

    @Override
    public long warningNanos() {
        return warned ? Long.MAX_VALUE : acquiredNanos + maxHoldMillis * MILLI / 3 * 2;
    }

    @Override
    public void warned() {
        warned = true;
    }
}
