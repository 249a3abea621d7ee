package io.github.redislocks;

import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisUri;
import io.github.redislocks.redis.Topology;
import java.lang.management.ManagementFactory;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/**
 * Makes locks that live in one Redis, and owns what they share: connections, the watchdog that renews holds, and the
 * subscription on which this JVM is told that a lock is its. Make one per process and Redis, and close it at the end.
 *
 * <pre>{@code
 * try (RedisLocks locks = RedisLocks.connect("redis://localhost:6379")) {
 *     Lock lock = locks.reentrantLock("inventory:sku-42");
 *     lock.lock();
 *     try { ... } finally { lock.unlock(); }
 * }
 * }</pre>
 *
 * <p>Thread-safe, as are its locks.
 */
public final class RedisLocks implements AutoCloseable {

    private static final SecureRandom RANDOM = new SecureRandom();

    private final Client client;

    private RedisLocks(Client client) {
        this.client = client;
    }

    /**
     * Connects with the default {@link LockOptions}.
     *
     * @param uri {@code redis://[user:password@]host[:port][/database]}; {@code rediss://} for TLS;
     *     {@code redis-sentinel://[user:password@]host[:port],host[:port]/master-name[/database]}; or
     *     {@code redis-cluster://[user:password@]host[:port],host[:port]}. Each may be followed by parameters:
     *     {@code clientName}, {@code commandTimeout} (such as {@code 500ms}), and where the Sentinels themselves want a
     *     login {@code sentinelUser} and {@code sentinelPassword}
     * @throws IllegalArgumentException if the URI cannot work
     * @throws LockUnavailableException if the server does not answer
     */
    public static RedisLocks connect(String uri) {
        return builder().uri(uri).build();
    }

    /**
     * Connects to independent masters, of which a majority has to agree (Redlock), with the default
     * {@link LockOptions}. A lock is had as soon as a majority gave its vote, and outlives the failure of a minority.
     * There are no Conditions and no fair locks.
     *
     * @param uris an odd number of masters, 3 or more, as in {@link #connect}; none may replicate another
     * @throws IllegalArgumentException if a URI cannot work, or they are not an odd number of different servers
     * @throws LockUnavailableException if no majority answers
     */
    public static RedisLocks quorum(String... uris) {
        return builder().quorum(uris).build();
    }

    /** Begins with the default {@link LockOptions}. */
    public static Builder builder() {
        return new Builder();
    }

    /** On a Redis that it closes in the end, also if it cannot begin: of the builder, or a test's. */
    static RedisLocks on(Redis redis, LockOptions options, @Nullable LockLostListener listener, Clock clock) {
        boolean started = false;
        try {
            RedisLocks locks = new RedisLocks(new Client(clientId(), options, listener, clock, redis));
            locks.client.start();
            started = true;
            return locks;
        } finally {
            if (!started) {
                redis.close();
            }
        }
    }

    private static String clientId() {
        String name = ManagementFactory.getRuntimeMXBean().getName();
        int at = name.indexOf('@');
        String host = name.substring(at + 1).replaceAll("[^A-Za-z0-9._-]", "_");
        return host + ':' + ProcessHandle.current().pid() + ':' + Long.toString(RANDOM.nextLong() >>> 4, 36);
    }

    /**
     * The lock of a name; nothing is sent. Locks of one name and key prefix are one lock, in all JVMs.
     *
     * @param name 1 to 4096 bytes in UTF-8; any well-formed text
     * @throws IllegalArgumentException if the name cannot work
     */
    public RedisReentrantLock reentrantLock(String name) {
        return lock(name, false);
    }

    /**
     * The lock of a name, which serves threads in the order in which they came, over all JVMs. It is the same lock as
     * {@link #reentrantLock(String)} of that name: fairness is how one waits for it.
     *
     * @param name as there
     * @throws IllegalArgumentException if the name cannot work
     * @throws UnsupportedOperationException on a quorum
     */
    public RedisReentrantLock fairLock(String name) {
        client.checkLines("fair locks");
        return lock(name, true);
    }

    /**
     * Shows who holds the lock of a name and who waits for it, over all JVMs. Asks Redis.
     *
     * @throws LockUnavailableException if Redis does not answer
     */
    public LockInspection inspect(String name) {
        return sync(name, false).queries().inspect();
    }

    private RedisReentrantLock lock(String name, boolean fair) {
        return new RedisReentrantLock(sync(name, fair), client.options.leaseMillis());
    }

    private Sync sync(String name, boolean fair) {
        client.checkOpen();
        return new Sync(client, Keys.of(client.options.keyPrefix(), name), fair);
    }

    /** What is done under a lock: returns something, and may throw. */
    @FunctionalInterface
    public interface Action<T extends @Nullable Object, E extends Exception> {

        /** Does it. */
        T run() throws E;
    }

    /**
     * Runs an action under the lock of a name, and returns what it returns or throws what it throws.
     *
     * @throws LockLostException if the lock was lost before the action had ended; if the action threw as well, its
     *     exception is thrown, and this one added to it as suppressed
     */
    @SuppressWarnings("try") // The resource is the hold itself.
    public <T extends @Nullable Object, E extends Exception> T withLock(String name, Action<T, E> action) throws E {
        Objects.requireNonNull(action, "action");
        RedisReentrantLock lock = reentrantLock(name);
        lock.lock();
        try (Unlock unlock = lock::unlock) {
            return action.run();
        }
    }

    /** Runs an action under the lock of a name, as {@link #withLock(String, Action)}. */
    public void withLock(String name, Runnable action) {
        Objects.requireNonNull(action, "action");
        this.<Boolean, RuntimeException>withLock(name, () -> {
            action.run();
            return Boolean.TRUE;
        });
    }

    @FunctionalInterface
    private interface Unlock extends AutoCloseable {
        @Override
        void close();
    }

    /** The settings in force. */
    public LockOptions options() {
        return client.options;
    }

    Client client() {
        return client;
    }

    /**
     * Ends all work of this client: refuses new calls, wakes waiting ones with {@link IllegalStateException}, gives
     * calls under way a bounded time, reports holds as lost ({@link LockLost.Reason#CLOSED}) and releases them, and
     * closes threads and connections. A second call does nothing.
     */
    @Override
    public void close() {
        client.close();
    }

    /** Collects settings; {@link #build()} checks them together and connects. */
    public static final class Builder {

        private static final String DEFAULT_URI = "redis://localhost:6379";

        private @Nullable RedisUri servers;
        private @Nullable QuorumMasters masters;
        private @Nullable Duration restartDelay;
        private String keyPrefix = LockOptions.DEFAULT_KEY_PREFIX;
        private Duration lease = LockOptions.DEFAULT_LEASE;
        private Duration retryFor = LockOptions.DEFAULT_RETRY_FOR;
        private Duration commandTimeout = LockOptions.DEFAULT_COMMAND_TIMEOUT;
        private int maxConnections = LockOptions.DEFAULT_MAX_CONNECTIONS;
        private int replicaAcks = LockOptions.DEFAULT_REPLICA_ACKS;
        private Duration replicaAcksTimeout = LockOptions.DEFAULT_COMMAND_TIMEOUT;
        private Duration failoverGrace = LockOptions.DEFAULT_FAILOVER_GRACE;
        private boolean localReentry;
        private @Nullable LockLostListener listener;

        private Builder() {}

        /** Where Redis is, as in {@link RedisLocks#connect(String)}. A command timeout in it is as if set here. */
        public Builder uri(String uri) {
            chosen(RedisUri.parse(uri));
            Duration time = Objects.requireNonNull(servers).commandTimeout();
            return time == null ? this : commandTimeout(time);
        }

        /** The server, where a URI cannot say what is needed. The timeouts of the configuration are not used. */
        public Builder server(HostAndPort serverAddress, JedisClientConfig clientConfig) {
            Objects.requireNonNull(clientConfig, "config");
            return chosen(new RedisUri(new Topology.Single(serverAddress), clientConfig));
        }

        /**
         * The master that Sentinels watch over, where a URI cannot say what is needed. The timeouts of both
         * configurations are not used.
         *
         * @param masterName what the Sentinels call it
         * @param sentinels where they are: one suffices to find the master, but only those named here are asked
         * @param master how to connect to the master, wherever that is
         * @param sentinel how to connect to a Sentinel; it has no database
         * @throws IllegalArgumentException if there is no name or no Sentinel, or one Sentinel twice
         */
        public Builder sentinel(
                String masterName, List<HostAndPort> sentinels, JedisClientConfig master, JedisClientConfig sentinel) {
            Objects.requireNonNull(master, "master");
            return chosen(new RedisUri(new Topology.Sentinel(masterName, sentinels, sentinel), master));
        }

        private Builder chosen(RedisUri uri) {
            servers = uri;
            masters = null;
            return this;
        }

        /**
         * Independent masters, as in {@link RedisLocks#quorum(String...)}, where a URI cannot say what is needed, such
         * as an authority of one's own for TLS. The timeouts of the configuration are not used.
         *
         * @param addresses an odd number of masters, 3 or more; none may replicate another
         * @param node how to connect to each of them
         * @throws IllegalArgumentException if they are not an odd number of different servers
         */
        public Builder quorum(List<HostAndPort> addresses, JedisClientConfig node) {
            Objects.requireNonNull(node, "node");
            return chosen(QuorumMasters.of(addresses.stream()
                    .map(address -> new RedisUri(new Topology.Single(address), node))
                    .toList()));
        }

        private Builder chosen(QuorumMasters quorum) {
            masters = quorum;
            servers = null;
            return this;
        }

        /** Independent masters, as in {@link RedisLocks#quorum(String...)}. */
        public Builder quorum(String... uris) {
            QuorumMasters parsed = QuorumMasters.parse(uris);
            chosen(parsed);
            Duration time = parsed.commandTimeout();
            return time == null ? this : commandTimeout(time);
        }

        /**
         * How long a master of a quorum gives no vote after it has started, since it may have forgotten the ones that
         * it gave; by default the lease. Leases that callers name may not be longer. {@link Duration#ZERO} lets it vote
         * at once: for servers that keep all their data, by {@code appendfsync always}, and for tests.
         */
        public Builder restartDelay(Duration delay) {
            this.restartDelay = Objects.requireNonNull(delay, "restartDelay");
            return this;
        }

        /**
         * The cluster to which these nodes belong, where a URI cannot say what is needed, such as TLS. The timeouts of
         * the configuration are not used.
         *
         * @param nodes some of its nodes: one that answers suffices, and the others are found
         * @param node how to connect to each node; it has no database
         * @throws IllegalArgumentException if there is no node, or one twice
         */
        public Builder cluster(List<HostAndPort> nodes, JedisClientConfig node) {
            Objects.requireNonNull(node, "node");
            return chosen(new RedisUri(new Topology.Cluster(nodes), node));
        }

        /** See {@link LockOptions#keyPrefix()}. */
        public Builder keyPrefix(String prefix) {
            this.keyPrefix = prefix;
            return this;
        }

        /** See {@link LockOptions#lease()}. */
        public Builder lease(Duration defaultLease) {
            this.lease = defaultLease;
            return this;
        }

        /** See {@link LockOptions#retryFor()}. */
        public Builder retryFor(Duration time) {
            this.retryFor = time;
            return this;
        }

        /** See {@link LockOptions#commandTimeout()}. */
        public Builder commandTimeout(Duration time) {
            this.commandTimeout = time;
            return this;
        }

        /** See {@link LockOptions#maxConnections()}. */
        public Builder maxConnections(int connections) {
            this.maxConnections = connections;
            return this;
        }

        /**
         * Lets a hold count only when so many replicas have it, so that it survives the promotion of one of them. If
         * fewer confirm it in time, it is given back, and {@code lock()} tries again for {@code retryFor}, a timed try
         * until its time, {@code tryLock()} not at all; then {@link LockUnavailableException} is thrown. A hold whose
         * renewals fewer confirm is lost at its deadline. Sentinels may promote any replica: name the number of all.
         *
         * @param replicas 0, the default, to wait for none
         * @param timeout how long one try waits for them: at least 1 ms, at most the command timeout
         */
        public Builder replicaAcks(int replicas, Duration timeout) {
            this.replicaAcks = replicas;
            this.replicaAcksTimeout = timeout;
            return this;
        }

        /**
         * Lets this client acquire no lock for a time after a failover that it has seen, so that a hold which the new
         * master does not know has ended before anybody can have its lock. What is held goes on, is renewed, re-entered
         * and released as ever; {@code lock()} waits; a timed try waits and then, and {@code tryLock()} at once, throws
         * {@link LockUnavailableException}. All clients should have the same.
         *
         * @param time at least the longest lease in use; zero, the default, not to wait
         */
        public Builder failoverGrace(Duration time) {
            this.failoverGrace = time;
            return this;
        }

        /**
         * Lets a thread that holds a lock lock it again, and unlock that, without a request, as long as the hold lasts
         * as long as was asked for: a renewed hold for any caller that names no lease, another while its deadline lies
         * far enough ahead. Then re-entry refreshes no lease, the watchdog does; a hold that somebody removed in Redis
         * is noticed at its next renewal, not at a re-entry; and Redis shows the outermost count.
         *
         * @param local false, the default, to write every re-entry to Redis
         */
        public Builder localReentry(boolean local) {
            this.localReentry = local;
            return this;
        }

        /** Who is told of losses; they are logged as warnings in any case. */
        public Builder lockLostListener(LockLostListener lockLostListener) {
            this.listener = Objects.requireNonNull(lockLostListener, "lockLostListener");
            return this;
        }

        /**
         * Checks the settings and connects.
         *
         * @throws IllegalArgumentException if a setting cannot work
         * @throws LockUnavailableException if the server does not answer
         */
        public RedisLocks build() {
            // A node of a quorum keeps votes, which a client of that server alone must not take for holds.
            String prefix = masters == null ? keyPrefix : keyPrefix + ":quorum";
            LockOptions options = new LockOptions(
                    prefix,
                    lease,
                    retryFor,
                    commandTimeout,
                    maxConnections,
                    replicaAcks,
                    replicaAcksTimeout,
                    failoverGrace,
                    localReentry);
            if (masters != null) {
                return on(masters.open(options, restartDelay), options, listener, Clock.SYSTEM);
            }
            if (restartDelay != null) {
                throw new IllegalArgumentException("restartDelay is " + restartDelay
                        + ", and only the masters of a quorum delay their votes: leave it out, or name a quorum.");
            }
            RedisUri chosen = servers == null ? RedisUri.parse(DEFAULT_URI) : servers;
            return on(chosen.open(maxConnections, options.commandTimeoutNanos()), options, listener, Clock.SYSTEM);
        }
    }
}
