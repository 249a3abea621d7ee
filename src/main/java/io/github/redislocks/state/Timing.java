package io.github.redislocks.state;

/** The times of the protocol, which all clients of one lock have in common. */
public final class Timing {

    /** The watchdog renews a hold every third of its lease. */
    public static final int RENEWALS_PER_LEASE = 3;
    /** A waiter asks at least this often, or three times in a shorter lease. */
    public static final long HEARTBEAT_MILLIS = 1_500;
    /** A grant that its client does not confirm lasts three heartbeats, and so does a place that it does not renew. */
    public static final int HEARTBEATS_PER_CLAIM = 3;
    /** The part of every validity that is given away for the drift between two clocks, besides 1 % of it. */
    public static final long DRIFT_MILLIS = 2;
    /** A client may pass the lock among its own threads for this long while another client waits. */
    public static final long LOCAL_TURN_NANOS = 100_000;
    /** Behind a hold that was shorter, and that met nobody when it began, it is assumed that nobody waits. */
    public static final long SHORT_HOLD_NANOS = 1_000_000;
    /** A timed try may end this much after its time, to hear the answer to its last request. */
    public static final long GRACE_MILLIS = 100;

    private Timing() {}

    /** How often a hold with such a lease is renewed. */
    public static long renewalNanos(long leaseMillis) {
        return leaseMillis * 1_000_000 / RENEWALS_PER_LEASE;
    }

    /** How often a waiter asks that wants such a lease. */
    public static long heartbeatMillis(long leaseMillis) {
        return Math.min(HEARTBEAT_MILLIS, leaseMillis / HEARTBEATS_PER_CLAIM);
    }

    /** How long a grant lasts that its client does not confirm, for such a lease. */
    public static long claimMillis(long leaseMillis) {
        return HEARTBEATS_PER_CLAIM * heartbeatMillis(leaseMillis);
    }

    /** How long a lease is good for, counted from before its request was sent. */
    public static long validityNanos(long leaseMillis) {
        return (leaseMillis - DRIFT_MILLIS) * 1_000_000 - leaseMillis * 10_000;
    }
}
