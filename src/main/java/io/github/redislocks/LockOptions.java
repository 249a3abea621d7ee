package io.github.redislocks;

import io.github.redislocks.redis.Acks;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The settings of one {@link RedisLocks}, immutable, with every default and limit of the library.
 *
 * @param keyPrefix what all keys and channels begin with; no braces, not empty
 * @param lease how long Redis keeps a hold that nobody renews, for acquisitions that name no lease
 * @param retryFor how long {@code lock()} goes on trying, from the start of an outage of Redis
 * @param commandTimeout how long one request waits for its answer
 * @param maxConnections how many connections lock attempts share; the watchdog and the mailbox have one each besides
 * @param replicaAcks how many replicas must have a hold before it counts; 0 if none
 * @param replicaAcksTimeout how long one request waits for them; of no meaning if there are none
 * @param failoverGrace for how long no lock is acquired after a failover that this client has seen
 * @param localReentry whether a hold that is valid is entered once more, and left, without a request
 */
public record LockOptions(
        String keyPrefix,
        Duration lease,
        Duration retryFor,
        Duration commandTimeout,
        int maxConnections,
        int replicaAcks,
        Duration replicaAcksTimeout,
        Duration failoverGrace,
        boolean localReentry) {

    /** {@value}: the prefix of keys and channels. */
    public static final String DEFAULT_KEY_PREFIX = "redis-locks";
    /** 30 s: the lease of a hold, renewed every third by the watchdog. */
    public static final Duration DEFAULT_LEASE = Duration.ofSeconds(30);
    /** 100 ms: a lease below it would end before its own confirmation on a slow network. */
    public static final Duration MIN_LEASE = Duration.ofMillis(100);
    /** 24 h: a lease above it outlives the memory of the last fencing token. */
    public static final Duration MAX_LEASE = Duration.ofHours(24);
    /** 10 s: how long {@code lock()} bears an outage. */
    public static final Duration DEFAULT_RETRY_FOR = Duration.ofSeconds(10);
    /** 1 s: the time of one request. */
    public static final Duration DEFAULT_COMMAND_TIMEOUT = Duration.ofSeconds(1);
    /** 1 minute: the longest time of one request. */
    public static final Duration MAX_COMMAND_TIMEOUT = Duration.ofMinutes(1);
    /** {@value}: connections that lock attempts share. */
    public static final int DEFAULT_MAX_CONNECTIONS = 8;

    /** {@value}: replicas that must have a hold before it counts. */
    public static final int DEFAULT_REPLICA_ACKS = 0;

    /** 0: how long no lock is acquired after a failover. */
    public static final Duration DEFAULT_FAILOVER_GRACE = Duration.ZERO;

    static final LockOptions DEFAULTS = new LockOptions(
            DEFAULT_KEY_PREFIX, DEFAULT_LEASE, DEFAULT_RETRY_FOR, DEFAULT_COMMAND_TIMEOUT, DEFAULT_MAX_CONNECTIONS);

    /** The watchdog renews a hold every third of its lease. */
    static final int RENEWALS_PER_LEASE = 3;
    /** A waiter asks at least this often, or three times in a shorter lease. */
    static final long HEARTBEAT_MILLIS = 1_500;
    /** A grant that its client does not confirm lasts three heartbeats, and so does a place that it does not renew. */
    static final int HEARTBEATS_PER_CLAIM = 3;
    /** The part of every validity that is given away for the drift between two clocks, besides 1 % of it. */
    static final long DRIFT_MILLIS = 2;
    /** A client may pass the lock among its own threads for this long while another client waits. */
    static final long LOCAL_TURN_NANOS = 100_000;
    /** Behind a hold that was shorter, and that met nobody when it began, it is assumed that nobody waits. */
    static final long SHORT_HOLD_NANOS = 1_000_000;
    /** A timed try may end this much after its time, to hear the answer to its last request. */
    static final long GRACE_MILLIS = 100;

    private static final int MAX_PREFIX_LENGTH = 256;

    /** Settings of a client that waits for no replica, and not after a failover. */
    public LockOptions(
            String keyPrefix, Duration lease, Duration retryFor, Duration commandTimeout, int maxConnections) {
        this(
                keyPrefix,
                lease,
                retryFor,
                commandTimeout,
                maxConnections,
                DEFAULT_REPLICA_ACKS,
                DEFAULT_COMMAND_TIMEOUT,
                DEFAULT_FAILOVER_GRACE,
                false);
    }

    /** Checks every setting. */
    public LockOptions {
        Objects.requireNonNull(keyPrefix, "keyPrefix");
        if (keyPrefix.isEmpty()
                || keyPrefix.length() > MAX_PREFIX_LENGTH
                || keyPrefix.indexOf('{') >= 0
                || keyPrefix.indexOf('}') >= 0
                || Keys.hasUnpairedSurrogate(keyPrefix)) {
            throw new IllegalArgumentException("The key prefix \"" + keyPrefix + "\" cannot be used: it must have 1 to "
                    + MAX_PREFIX_LENGTH + " characters, no braces and no unpaired surrogates. Choose a plain word such"
                    + " as \"" + DEFAULT_KEY_PREFIX + "\".");
        }
        checkLease(lease);
        if (Objects.requireNonNull(retryFor, "retryFor").isNegative() || retryFor.compareTo(MAX_LEASE) > 0) {
            throw new IllegalArgumentException("retryFor is " + retryFor + ": it must lie between 0 and " + MAX_LEASE
                    + ". Use Duration.ZERO to give up at the first failure.");
        }
        if (Objects.requireNonNull(commandTimeout, "commandTimeout").toMillis() < 1
                || commandTimeout.compareTo(MAX_COMMAND_TIMEOUT) > 0) {
            throw new IllegalArgumentException("The command timeout is " + commandTimeout + ": it must lie between 1 ms"
                    + " and " + MAX_COMMAND_TIMEOUT + ". The default is " + DEFAULT_COMMAND_TIMEOUT + ".");
        }
        if (maxConnections < 1) {
            throw new IllegalArgumentException("maxConnections is " + maxConnections
                    + ": at least 1 connection is needed. The default is " + DEFAULT_MAX_CONNECTIONS + ".");
        }
        checkReplicaAcks(replicaAcks, replicaAcksTimeout, commandTimeout);
        if (Objects.requireNonNull(failoverGrace, "failoverGrace").isNegative()
                || failoverGrace.compareTo(MAX_LEASE) > 0) {
            throw new IllegalArgumentException("failoverGrace is " + failoverGrace + ": it must lie between 0 and "
                    + MAX_LEASE + ". Name the longest lease in use, such as " + lease + ", or Duration.ZERO for none.");
        }
    }

    private static void checkReplicaAcks(int replicas, Duration timeout, Duration commandTimeout) {
        Objects.requireNonNull(timeout, "replicaAcksTimeout");
        if (replicas < 0) {
            throw new IllegalArgumentException("replicaAcks is " + replicas
                    + ": it must be 0, to wait for no replica, or the number of replicas to wait for.");
        }
        if (replicas > 0 && (timeout.toMillis() < 1 || timeout.compareTo(commandTimeout) > 0)) {
            throw new IllegalArgumentException("The timeout of replicaAcks is " + timeout
                    + ": it must lie between 1 ms and the command timeout, which is " + commandTimeout
                    + ". A replica needs about a round trip from its master.");
        }
    }

    /** Checks a lease and returns it in milliseconds. */
    static long checkLease(Duration lease) {
        Objects.requireNonNull(lease, "lease");
        if (lease.compareTo(MIN_LEASE) < 0 || lease.compareTo(MAX_LEASE) > 0) {
            throw new IllegalArgumentException("The lease is " + lease + ": it must lie between " + MIN_LEASE + " and "
                    + MAX_LEASE + ". Name no lease to have the watchdog renew the hold for as long as it lasts.");
        }
        return lease.toMillis();
    }

    long leaseMillis() {
        return lease.toMillis();
    }

    long commandTimeoutNanos() {
        return commandTimeout.toNanos();
    }

    /** What is waited for behind whatever makes a hold or lets it last longer, or null. */
    @Nullable
    Acks acks() {
        return replicaAcks == 0 ? null : new Acks(replicaAcks, replicaAcksTimeout.toNanos());
    }

    static long heartbeatMillis(long leaseMillis) {
        return Math.min(HEARTBEAT_MILLIS, leaseMillis / HEARTBEATS_PER_CLAIM);
    }

    static long claimMillis(long leaseMillis) {
        return HEARTBEATS_PER_CLAIM * heartbeatMillis(leaseMillis);
    }

    /** How long a lease is good for, counted from before its request was sent. */
    static long validityNanos(long leaseMillis) {
        return (leaseMillis - DRIFT_MILLIS) * 1_000_000 - leaseMillis * 10_000;
    }
}
