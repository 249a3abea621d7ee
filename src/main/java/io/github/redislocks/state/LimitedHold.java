package io.github.redislocks.state;

import org.jspecify.annotations.Nullable;

/**
 * A hold that lasts for {@code maxHold} at most, since no request asks for a lease beyond that. The time counts from
 * when the owner got the lock, or the last of several locks. This is a class of its own, so that other holds need no
 * fields for the time.
 */
public final class LimitedHold extends Hold {

    private static final long MILLI = 1_000_000;
    /** The value of {@link #beganNanos} before the time has begun. */
    private static final long NOT_YET = Long.MAX_VALUE;

    private final long maxHoldMillis;
    /** When the time of {@code maxHold} began. */
    private volatile long beganNanos;
    /**
     * Whether the present lease lasts until the end of {@code maxHold}, so that no other lease follows. Written after
     * the deadline was moved forward; read once the deadline has passed.
     */
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
        // The present lease need not be cut. It began before now and is no longer than `maxHold`, which counts from
        // now. So it ends before endNanos().
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
        // A lease is a whole number of milliseconds, so the last lease may end before endNanos(), by less than a
        // millisecond.
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
