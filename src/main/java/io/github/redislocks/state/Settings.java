package io.github.redislocks.state;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.redis.Acks;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The settings of one client. This class alone has and checks every default and limit of the library. Immutable;
 * {@link #checked()} rejects combinations that cannot work.
 */
public final class Settings {

    /** The prefix of keys and channels. */
    public static final String DEFAULT_KEY_PREFIX = "redis-locks";
    /** The lease of a hold. The watchdog renews the hold after each third of its lease. */
    public static final Duration DEFAULT_LEASE = Duration.ofSeconds(30);
    /** A shorter lease could end before its own confirmation on a slow network. */
    public static final Duration MIN_LEASE = Duration.ofMillis(100);
    /** A longer lease would outlive the memory of the last fencing token. */
    public static final Duration MAX_LEASE = Duration.ofHours(24);
    /** The longest time for which a hold can be limited. */
    private static final Duration LONGEST_MAX_HOLD = Duration.ofDays(30);
    /** The shortest time for which a client keeps a lock that nobody uses. */
    private static final Duration LEAST_RESIDENCY = Duration.ofMillis(1);
    /** How many unused locks a client keeps. */
    public static final int DEFAULT_MAX_RESIDENT = 10_000;
    /** How long {@code lock()} goes on trying during an outage. */
    public static final Duration DEFAULT_RETRY_FOR = Duration.ofSeconds(10);
    /** The shortest time after which a wait or a hold can be reported as slow. */
    private static final Duration LEAST_SLOW = Duration.ofMillis(10);
    /** The timeout of one request. */
    public static final Duration DEFAULT_COMMAND_TIMEOUT = Duration.ofSeconds(1);
    /** The longest timeout of one request. */
    public static final Duration MAX_COMMAND_TIMEOUT = Duration.ofMinutes(1);
    /** The number of connections that lock attempts share. */
    public static final int DEFAULT_MAX_CONNECTIONS = 8;
    /** How long the last token of a free lock is remembered. */
    public static final Duration DEFAULT_TOKEN_MEMORY = Duration.ofSeconds(100_000);

    /** The least token memory: more than twice as long as the keys of an idle queue last. */
    private static final Duration LEAST_TOKEN_MEMORY = Duration.ofMinutes(1);

    private static final Duration LEAST_TIMEOUT = Duration.ofMillis(1);
    private static final int MAX_PREFIX_LENGTH = 256;

    /** The settings of a client that changes none. */
    public static final Settings DEFAULTS = new Settings(new Values());

    /** The values, which change only while a copy is made. */
    private static final class Values implements Cloneable {
        String keyPrefix = DEFAULT_KEY_PREFIX;
        Duration lease = DEFAULT_LEASE;
        boolean renewed = true;
        Duration retryFor = DEFAULT_RETRY_FOR;
        Duration commandTimeout = DEFAULT_COMMAND_TIMEOUT;
        int maxConnections = DEFAULT_MAX_CONNECTIONS;
        int replicaAcks;
        Duration failoverGrace = Duration.ZERO;
        Duration tokenMemory = DEFAULT_TOKEN_MEMORY;
        boolean localReentry;
        boolean relockAfterLoss = true;
        Duration maxHold = Duration.ZERO;
        Duration residency = Duration.ZERO;
        int maxResident = DEFAULT_MAX_RESIDENT;
        boolean watchDeletions;
        Duration slowWait = Duration.ZERO;
        Duration slowHold = Duration.ZERO;

        @Override
        protected Values clone() {
            try {
                return (Values) super.clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private final Values values;
    private final long leaseMillis;
    private final long commandTimeoutNanos;
    private final long retryForNanos;
    private final long maxHoldMillis;
    private final long residencyNanos;
    private final @Nullable Acks acks;

    private Settings(Values values) {
        this.values = values;
        this.leaseMillis = values.lease.toMillis();
        this.commandTimeoutNanos = values.commandTimeout.toNanos();
        this.retryForNanos = values.retryFor.toNanos();
        this.maxHoldMillis = values.maxHold.toMillis();
        this.residencyNanos = values.residency.toNanos();
        this.acks = values.replicaAcks == 0 ? null : new Acks(values.replicaAcks, commandTimeoutNanos / 2);
    }

    private Settings with(Consumer<Values> change) {
        Values changed = values.clone();
        change.accept(changed);
        return new Settings(changed);
    }

    /** A copy with another prefix of keys and channels: not empty, no braces. */
    public Settings withKeyPrefix(String prefix) {
        Objects.requireNonNull(prefix, "keyPrefix");
        if (prefix.isEmpty()
                || prefix.length() > MAX_PREFIX_LENGTH
                || prefix.indexOf('{') >= 0
                || prefix.indexOf('}') >= 0
                || !StandardCharsets.UTF_8.newEncoder().canEncode(prefix)) {
            throw new IllegalArgumentException("The key prefix \"" + prefix + "\" cannot be used: it must have 1 to "
                    + MAX_PREFIX_LENGTH + " characters, no braces and no unpaired surrogates. Choose a plain word such"
                    + " as \"" + DEFAULT_KEY_PREFIX + "\".");
        }
        return with(values -> values.keyPrefix = prefix);
    }

    public Settings withLease(Duration lease) {
        checkLease(lease);
        return with(values -> values.lease = lease);
    }

    /** A copy with a lease that is not renewed. A client keeps no lock with such a lease. */
    public Settings withFixedLease(Duration lease) {
        checkLease(lease);
        return with(values -> {
            values.lease = lease;
            values.renewed = false;
            values.residency = Duration.ZERO;
        });
    }

    public Settings renewed() {
        return with(values -> values.renewed = true);
    }

    /** A copy with another time for which {@code lock()} goes on trying, from the start of an outage of Redis. */
    public Settings withRetryFor(Duration time) {
        if (Objects.requireNonNull(time, "retryFor").isNegative() || time.compareTo(MAX_LEASE) > 0) {
            throw new IllegalArgumentException("retryFor is " + Shown.of(time) + ": it must lie between 0 and "
                    + Shown.of(MAX_LEASE) + ". Use Duration.ZERO to give up at the first failure.");
        }
        return with(values -> values.retryFor = time);
    }

    public Settings withCommandTimeout(Duration time) {
        if (Objects.requireNonNull(time, "commandTimeout").compareTo(LEAST_TIMEOUT) < 0
                || time.compareTo(MAX_COMMAND_TIMEOUT) > 0) {
            throw new IllegalArgumentException("The command timeout is " + Shown.of(time)
                    + ": it must lie between 1 ms and " + Shown.of(MAX_COMMAND_TIMEOUT) + ". The default is "
                    + Shown.of(DEFAULT_COMMAND_TIMEOUT) + ".");
        }
        return with(values -> values.commandTimeout = time);
    }

    /** A copy with another number of connections that lock attempts share. */
    public Settings withMaxConnections(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("maxConnections is " + count
                    + ": at least 1 connection is needed. The default is " + DEFAULT_MAX_CONNECTIONS + ".");
        }
        return with(values -> values.maxConnections = count);
    }

    /** A copy with the number of replicas that must have a hold before it counts; 0 if none. */
    public Settings withReplicaAcks(int replicas) {
        if (replicas < 0) {
            throw new IllegalArgumentException("replicaAcks is " + replicas
                    + ": it must be 0, to wait for no replica, or the number of replicas to wait for.");
        }
        return with(values -> values.replicaAcks = replicas);
    }

    /** A copy with another failover grace: for this time after a failover the client acquires no lock. */
    public Settings withFailoverGrace(Duration time) {
        if (Objects.requireNonNull(time, "failoverGrace").isNegative() || time.compareTo(MAX_LEASE) > 0) {
            throw new IllegalArgumentException("failoverGrace is " + Shown.of(time) + ": it must lie between 0 and "
                    + Shown.of(MAX_LEASE) + ". Name the longest lease in use, such as " + Shown.of(values.lease)
                    + ", or Duration.ZERO for none.");
        }
        return with(values -> values.failoverGrace = time);
    }

    /** A copy with another time for which the last token of a free lock is remembered. */
    public Settings withTokenMemory(Duration time) {
        Objects.requireNonNull(time, "tokenMemory");
        return with(values -> values.tokenMemory = time);
    }

    /** A copy in which re-entries send no request, or send one. */
    public Settings withLocalReentry(boolean local) {
        return with(values -> values.localReentry = local);
    }

    /** A copy in which a thread may, or may not, lock again before {@code unlock()} has thrown a loss. */
    public Settings withRelockAfterLoss(boolean may) {
        return with(values -> values.relockAfterLoss = may);
    }

    /** A copy with another time after which a hold ends; zero if none. */
    public Settings withMaxHold(Duration time) {
        checkMaxHold(time);
        return with(values -> values.maxHold = time);
    }

    /** A copy with another time for which the client keeps a lock that nobody uses; zero if it keeps none. */
    public Settings withResidency(Duration time) {
        checkResidency(time);
        return with(values -> values.residency = time);
    }

    /** A copy with another number of unused locks that the client keeps at most. For tests: users cannot set it. */
    public Settings withMaxResident(int count) {
        return with(values -> values.maxResident = count);
    }

    /** A copy in which Redis reports at once, or does not report, that others have changed the keys of held locks. */
    public Settings withWatchDeletions(boolean watched) {
        return with(values -> values.watchDeletions = watched);
    }

    /** A copy with another time after which a wait is logged; zero if none is. */
    public Settings withSlowWait(Duration time) {
        checkSlow("slowWait", time);
        return with(values -> values.slowWait = time);
    }

    /** A copy with another time after which a hold is logged; zero if none is. */
    public Settings withSlowHold(Duration time) {
        checkSlow("slowHold", time);
        return with(values -> values.slowHold = time);
    }

    /** Returns these settings if their values can work together; throws if not. */
    public Settings checked() {
        Duration lease = values.lease;
        Duration commandTimeout = values.commandTimeout;
        Duration longest = lease.compareTo(DEFAULT_COMMAND_TIMEOUT) < 0 ? DEFAULT_COMMAND_TIMEOUT : lease;
        if (commandTimeout.compareTo(longest) > 0) {
            throw new IllegalArgumentException(
                    "The command timeout is " + Shown.of(commandTimeout) + ", and the lease " + Shown.of(lease)
                            + ": an answer that comes after the lease is worth nothing, and unlock() would wait for it. Name a"
                            + " command timeout of " + Shown.of(longest) + " or less, or a longer lease.");
        }
        checkMayKeep(
                values.residency,
                values.maxHold,
                "Set only one of them. A single lock can have the other by its LockOptions: a maxHold, or a residency with"
                        + " maxHold(Duration.ZERO).");
        Duration grace = values.failoverGrace;
        if (!grace.isZero() && grace.compareTo(lease) < 0) {
            throw new IllegalArgumentException(
                    "failoverGrace is " + Shown.of(grace) + ", and the lease " + Shown.of(lease)
                            + ": a hold that the new master does not know would outlast it. Name the longest lease in use, or"
                            + " Duration.ZERO for none.");
        }
        checkTokenMemory(values.tokenMemory, lease);
        return this;
    }

    /**
     * Throws, with the given remedy, if there is a residency and a maxHold: a client cannot keep a lock whose holds
     * have to end.
     */
    public static void checkMayKeep(Duration residency, Duration maxHold, String remedy) {
        if (!residency.isZero() && !maxHold.isZero()) {
            throw new IllegalArgumentException("The residency is " + Shown.of(residency) + ", and the maxHold "
                    + Shown.of(maxHold)
                    + ": a client renews a lock that it keeps, whichever of its threads holds it, so the"
                    + " maxHold would end no hold. " + remedy);
        }
    }

    private static void checkTokenMemory(Duration memory, Duration lease) {
        Duration least = leastTokenMemory(lease);
        boolean isDefault = memory.equals(DEFAULT_TOKEN_MEMORY);
        if (!isDefault && (memory.compareTo(least) < 0 || memory.compareTo(DEFAULT_TOKEN_MEMORY) > 0)) {
            throw new IllegalArgumentException(
                    "tokenMemory is " + Shown.of(memory) + ": it must lie between " + Shown.of(least)
                            + ", which is a minute or four leases, and " + Shown.of(DEFAULT_TOKEN_MEMORY)
                            + ". It should be more than any clock of Redis may be set back, or two of them differ.");
        }
    }

    /**
     * The least token memory for leases of this length: a minute or four leases, whichever is longer. If a hold ends
     * without a release, Redis remembers its token, and so the loss, for more than half of that time.
     */
    public static Duration leastTokenMemory(Duration lease) {
        Duration leases = lease.multipliedBy(4);
        return leases.compareTo(LEAST_TOKEN_MEMORY) > 0 ? leases : LEAST_TOKEN_MEMORY;
    }

    /** Checks a time after which a hold ends, and returns it. */
    public static Duration checkMaxHold(Duration time) {
        Objects.requireNonNull(time, "maxHold");
        if (!time.isZero() && (time.compareTo(MIN_LEASE) < 0 || time.compareTo(LONGEST_MAX_HOLD) > 0)) {
            throw new IllegalArgumentException("maxHold is " + Shown.of(time) + ": it must lie between "
                    + Shown.of(MIN_LEASE) + " and " + Shown.of(LONGEST_MAX_HOLD)
                    + ". Use Duration.ZERO to have holds renewed for as long as their work takes.");
        }
        return time;
    }

    /** Checks a time for which the client keeps a lock that nobody uses, and returns it. */
    public static Duration checkResidency(Duration time) {
        Objects.requireNonNull(time, "residency");
        if (!time.isZero() && (time.compareTo(LEAST_RESIDENCY) < 0 || time.compareTo(MAX_LEASE) > 0)) {
            throw new IllegalArgumentException(
                    "residency is " + Shown.of(time) + ": it must lie between " + Shown.of(LEAST_RESIDENCY)
                            + " and " + Shown.of(MAX_LEASE)
                            + ". Name about the time between two uses of a lock by one process, such as"
                            + " 1 s, or Duration.ZERO to release each lock at its unlock().");
        }
        return time;
    }

    private static void checkSlow(String name, Duration time) {
        Objects.requireNonNull(time, name);
        if (!time.isZero() && (time.compareTo(LEAST_SLOW) < 0 || time.compareTo(MAX_LEASE) > 0)) {
            throw new IllegalArgumentException(name + " is " + Shown.of(time) + ": it must lie between "
                    + Shown.of(LEAST_SLOW) + " and " + Shown.of(MAX_LEASE)
                    + ". Name a time that is longer than usual, or Duration.ZERO to log none.");
        }
    }

    public static void checkLease(Duration lease) {
        Objects.requireNonNull(lease, "lease");
        if (lease.compareTo(MIN_LEASE) < 0 || lease.compareTo(MAX_LEASE) > 0) {
            throw new IllegalArgumentException("The lease is " + Shown.of(lease) + ": it must lie between "
                    + Shown.of(MIN_LEASE) + " and " + Shown.of(MAX_LEASE) + ". The default is "
                    + Shown.of(DEFAULT_LEASE) + ", renewed for as long as a hold lasts.");
        }
    }

    public String keyPrefix() {
        return values.keyPrefix;
    }

    public Duration lease() {
        return values.lease;
    }

    public long leaseMillis() {
        return leaseMillis;
    }

    /** Whether the watchdog renews the lease. */
    public boolean isRenewed() {
        return values.renewed;
    }

    public long commandTimeoutNanos() {
        return commandTimeoutNanos;
    }

    public Duration commandTimeout() {
        return values.commandTimeout;
    }

    public long retryForNanos() {
        return retryForNanos;
    }

    public int maxConnections() {
        return values.maxConnections;
    }

    /** How many unused locks the client keeps at most. */
    public int maxResident() {
        return values.maxResident;
    }

    public int replicaAcks() {
        return values.replicaAcks;
    }

    public long failoverGraceNanos() {
        return values.failoverGrace.toNanos();
    }

    public Duration tokenMemory() {
        return values.tokenMemory;
    }

    public boolean localReentry() {
        return values.localReentry;
    }

    public boolean relockAfterLoss() {
        return values.relockAfterLoss;
    }

    /** For how long the client keeps a lock that nobody uses; 0 if it keeps none. */
    public long residencyNanos() {
        return residencyNanos;
    }

    /** How long a hold may last; 0 if for ever. */
    public long maxHoldMillis() {
        return maxHoldMillis;
    }

    public boolean watchDeletions() {
        return values.watchDeletions;
    }

    /** After how long a wait is logged; 0 if none is. */
    public long slowWaitNanos() {
        return values.slowWait.toNanos();
    }

    /** After how long a hold is logged; 0 if none is. */
    public long slowHoldNanos() {
        return values.slowHold.toNanos();
    }

    /** The replica acknowledgements to wait for after each request that makes or extends a hold; null if none. */
    @Nullable
    public Acks acks() {
        return acks;
    }

    /** The time between two renewals of a hold. */
    public long renewalNanos() {
        return Timing.renewalNanos(leaseMillis);
    }

    /**
     * How long a hold that this client has forgotten may last in Redis: the hold's lease or the client's default lease,
     * whichever is longer, plus the life of a place in the queue.
     */
    public long leftoverNanos(long forgottenLeaseMillis) {
        long longest = Math.max(forgottenLeaseMillis, leaseMillis);
        return (longest + Timing.claimMillis(longest)) * 1_000_000;
    }
}
