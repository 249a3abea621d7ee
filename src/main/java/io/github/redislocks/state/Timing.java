package io.github.redislocks.state;

/** The times of the protocol, the same for all clients of a lock. */
public final class Timing {

    /** The watchdog renews a hold after each third of its lease. */
    public static final int RENEWALS_PER_LEASE = 3;
    /** The longest time between two heartbeats of a waiter. With a short lease it is a third of the lease. */
    public static final long HEARTBEAT_MILLIS = 1_500;
    /** An unconfirmed grant, and a place that is not renewed, lasts for this number of heartbeats. */
    public static final int HEARTBEATS_PER_CLAIM = 3;
    /** Every validity is shortened by this and 1 % of the lease, for the drift between two clocks. */
    public static final long DRIFT_MILLIS = 2;
    /** A client may pass the lock among its own threads for this long while another client waits. */
    public static final long LOCAL_TURN_NANOS = 100_000;
    /**
     * While others wait for a lock that a client keeps, a thread may take the lock again and again for this long before
     * the next thread of the client gets it. The client may keep the lock for this long before another client gets it.
     * So the cost of a hand-over is spread over many holds.
     */
    public static final long SLICE_NANOS = 1_000_000;
    /** If a hold was shorter than this and nobody waited when it began, the release assumes that nobody waits now. */
    public static final long SHORT_HOLD_NANOS = 1_000_000;
    /**
     * How long a hold lasts before it is watched, if the client watches holds. This is shorter than the time within
     * which a loss is to be reported, and longer than most holds last, so that most holds are never watched.
     */
    public static final long UNWATCHED_NANOS = 20_000_000;
    /** A timed try may end this much after its time, to receive the reply to its last request. */
    public static final long GRACE_MILLIS = 100;

    private Timing() {}

    /** The time between two renewals of a hold with this lease. */
    public static long renewalNanos(long leaseMillis) {
        return leaseMillis * 1_000_000 / RENEWALS_PER_LEASE;
    }

    /** The time between two heartbeats of a waiter that wants this lease. */
    public static long heartbeatMillis(long leaseMillis) {
        return Math.min(HEARTBEAT_MILLIS, leaseMillis / HEARTBEATS_PER_CLAIM);
    }

    /** How long an unconfirmed grant to a waiter that wants this lease lasts. */
    public static long claimMillis(long leaseMillis) {
        return HEARTBEATS_PER_CLAIM * heartbeatMillis(leaseMillis);
    }

    /** How long a hold with this lease is valid, counted from before the request was sent. */
    public static long validityNanos(long leaseMillis) {
        return (leaseMillis - DRIFT_MILLIS) * 1_000_000 - leaseMillis * 10_000;
    }
}
