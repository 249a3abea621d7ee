package io.github.redislocks;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.engine.EagerClasses;
import io.github.redislocks.engine.LockClient;
import io.github.redislocks.engine.LockEngine;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.jedis.JedisVersion;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import java.lang.management.ManagementFactory;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

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
 *
 * @since 0.1.0
 */
public final class RedisLocks implements Locks {

    private static final SecureRandom RANDOM = new SecureRandom();
    private static final LockOptions PLAIN = LockOptions.defaults();
    private static final LockOptions FAIR = PLAIN.fair(true);

    private final LockClient client;

    private RedisLocks(LockClient client) {
        this.client = client;
    }

    /**
     * Connects with default settings.
     *
     * @param uri {@code redis://[user:password@]host[:port][/database]}; {@code rediss://} for TLS;
     *     {@code redis-sentinel://[user:password@]host[:port],host[:port]/master-name[/database]}; or
     *     {@code redis-cluster://[user:password@]host[:port],host[:port]}. Each may be followed by parameters:
     *     {@code clientName}, {@code commandTimeout} (such as {@code 500ms}), and where the Sentinels themselves want a
     *     login {@code sentinelUser} and {@code sentinelPassword}
     * @throws IllegalArgumentException if the URI cannot work
     * @throws IllegalStateException if the Jedis on the class path is older than 6.0
     * @throws LockUnavailableException if the server does not answer
     */
    public static RedisLocks connect(String uri) {
        return builder().uri(uri).build();
    }

    /**
     * Connects to independent masters, of which a majority has to agree (Redlock), with default settings. A lock is
     * acquired as soon as a majority gave its vote, and outlives the failure of a minority. There are no Conditions and
     * no fair locks.
     *
     * @param uris an odd number of masters, 3 or more, as in {@link #connect}; none may replicate another
     * @throws IllegalArgumentException if a URI cannot work, or they are not an odd number of different servers
     * @throws IllegalStateException if the Jedis on the class path is older than 6.0
     * @throws LockUnavailableException if no majority answers
     */
    public static RedisLocks quorum(String... uris) {
        return builder().quorum(uris).build();
    }

    /**
     * Begins with default settings.
     *
     * @throws IllegalStateException if the Jedis on the class path is older than 6.0
     */
    public static Builder builder() {
        return new Builder();
    }

    /** On a Redis of a test, which it closes in the end. */
    static RedisLocks on(Redis redis, Settings settings, List<LockListener> listeners, Clock clock) {
        return on(redis, newClientId(), settings.checked(), listeners, clock, Threads.DAEMONS, Duration.ZERO);
    }

    /** On a Redis that it closes in the end, also if it cannot begin. */
    private static RedisLocks on(
            Redis redis,
            String clientId,
            Settings settings,
            List<LockListener> listeners,
            Clock clock,
            Threads threads,
            Duration connectWithin) {
        boolean started = false;
        try {
            EagerClasses.initialize();
            RedisLocks locks = new RedisLocks(new LockClient(clientId, settings, listeners, clock, redis, threads));
            locks.client.start(connectWithin);
            started = true;
            return locks;
        } finally {
            if (!started) {
                redis.close();
            }
        }
    }

    private static String newClientId() {
        String name = ManagementFactory.getRuntimeMXBean().getName();
        int at = name.indexOf('@');
        String host = name.substring(at + 1).replaceAll("[^A-Za-z0-9._-]", "_");
        return host + ':' + ProcessHandle.current().pid() + ':' + Long.toString(RANDOM.nextLong() >>> 4, 36);
    }

    @Override
    public RedisReentrantLock reentrantLock(String name) {
        return lock(name, PLAIN);
    }

    @Override
    public RedisReentrantLock fairLock(String name) {
        return lock(name, FAIR);
    }

    @Override
    public RedisReentrantLock lock(String name, LockOptions options) {
        LockEngine.Sync sync = client.lock(name, options.isFair(), options.over(client.settings));
        return new RedisReentrantLock(client, sync, options.isRenewed());
    }

    @Override
    public LockHandle acquire(String name, LockOptions options) throws InterruptedException {
        RedisLockHandle handle = handle(name, options);
        WaitLimit limit = WaitLimit.interruptible(handle.sync().retryForNanos());
        Hold hold = handle.sync().acquire(handle.handleOwner(), limit, options.isRenewed());
        return handle.of(Objects.requireNonNull(hold, "acquired without a hold"));
    }

    @Override
    public Optional<LockHandle> tryAcquire(String name, Duration wait, LockOptions options)
            throws InterruptedException {
        long nanos = TimeUnit.NANOSECONDS.convert(Objects.requireNonNull(wait, "wait"));
        RedisLockHandle handle = handle(name, options);
        LockEngine.Sync sync = handle.sync();
        WaitLimit limit = WaitLimit.within(client.clock.nanoTime(), nanos, sync.retryForNanos());
        return Optional.ofNullable(sync.acquire(handle.handleOwner(), limit, options.isRenewed()))
                .map(handle::of);
    }

    private RedisLockHandle handle(String name, LockOptions options) {
        return new RedisLockHandle(client.lock(name, options.isFair(), options.over(client.settings)), client.owners);
    }

    @Override
    public LockInspection inspect(String name) {
        return client.inspect(name);
    }

    /**
     * Counts the lock names whose last token Redis remembers: each costs about 200 bytes until
     * {@link Builder#tokenMemory} is over. For operators: goes through all keys of the database with {@code SCAN}, a
     * thousand with each request, which takes seconds where there are millions; needs the right {@code +scan}. A name
     * that comes or goes meanwhile may be counted or not. On a quorum it is the count of the master that has most.
     *
     * @throws IllegalStateException if this is closed
     * @throws LockUnavailableException if a server does not answer or refuses
     */
    public long countLastTokens() {
        return client.countLastTokens();
    }

    LockClient client() {
        return client;
    }

    @Override
    public String clientId() {
        return client.id;
    }

    @Override
    public boolean isClosed() {
        return client.isClosed();
    }

    @Override
    public void close(Duration drain) {
        if (Objects.requireNonNull(drain, "drain").isNegative()) {
            throw new IllegalArgumentException(
                    "The drain is " + drain + ": it must not be negative. Use close() to wait for no holder.");
        }
        client.close(TimeUnit.NANOSECONDS.convert(drain));
    }

    /**
     * {@inheritDoc}
     *
     * <p>Gives calls under way two command timeouts at most, and ends the threads and connections.
     */
    @Override
    public void close() {
        client.close();
    }

    /** Names the client, its Redis, and how many locks its threads hold and wait for. Asks no server. */
    @Override
    public String toString() {
        return client.toString();
    }

    /**
     * Collects settings; {@link #build()} connects.
     *
     * <pre>{@code
     * RedisLocks locks = RedisLocks.builder()
     *         .uri("redis://localhost:6379")
     *         .lease(Duration.ofSeconds(10))
     *         .onLockLost(loss -> alarms.add(loss))
     *         .build();
     * }</pre>
     *
     * <p>A value that cannot work is refused by the method that takes it, and values that cannot work together are
     * refused by {@link #build()}, both with {@link IllegalArgumentException} and before anything is sent.
     *
     * @since 0.1.0
     */
    public static final class Builder {

        private static final String DEFAULT_URI = "redis://localhost:6379";
        private static final Duration MAX_CONNECT = Duration.ofDays(1);

        private @Nullable JedisServers servers;
        private @Nullable Duration restartDelay;
        private Settings settings = Settings.DEFAULTS;
        private Duration connectWithin = Duration.ZERO;
        private final List<LockListener> listeners = new ArrayList<>();
        private @Nullable ThreadFactory threadFactory;

        private Builder() {
            JedisVersion.check();
        }

        /**
         * Where Redis is, as in {@link RedisLocks#connect(String)}. A command timeout in it is as if set here.
         *
         * @throws IllegalArgumentException if the URI cannot work
         */
        public Builder uri(String uri) {
            return servers(JedisServers.uri(uri));
        }

        /**
         * Independent masters, as in {@link RedisLocks#quorum(String...)}.
         *
         * @throws IllegalArgumentException if a URI cannot work, or they are not an odd number of different servers
         */
        public Builder quorum(String... uris) {
            return servers(JedisServers.quorum(uris));
        }

        /**
         * Where Redis is and how to connect to it, in the types of the client library Jedis: for what a URI cannot say,
         * such as a certificate authority of one's own. The last call that says where Redis is counts.
         */
        public Builder servers(JedisServers where) {
            servers = Objects.requireNonNull(where, "servers");
            Duration time = where.commandTimeout();
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
         * What all keys and channels begin with; {@code redis-locks} by default.
         *
         * @param prefix 1 to 256 characters without braces
         * @throws IllegalArgumentException if it cannot work
         */
        public Builder keyPrefix(String prefix) {
            settings = settings.withKeyPrefix(prefix);
            return this;
        }

        /**
         * How long Redis keeps a hold that nobody renews, for acquisitions that name no lease; 30 s by default.
         *
         * @param defaultLease 100 ms to 24 h
         * @throws IllegalArgumentException if it is shorter or longer
         */
        public Builder lease(Duration defaultLease) {
            settings = settings.withLease(defaultLease);
            return this;
        }

        /**
         * How long {@code lock()} goes on trying, from the start of an outage of Redis; 10 s by default.
         *
         * @param time 0, to give up at the first failure, to 24 h
         * @throws IllegalArgumentException if it is negative or longer
         */
        public Builder retryFor(Duration time) {
            settings = settings.withRetryFor(time);
            return this;
        }

        /**
         * How long one request waits for its answer; 1 s by default.
         *
         * @param time 1 ms to a minute, and not longer than the lease if that is longer than a second
         * @throws IllegalArgumentException if it is shorter or longer
         */
        public Builder commandTimeout(Duration time) {
            settings = settings.withCommandTimeout(time);
            return this;
        }

        /**
         * How many connections lock attempts share; 8 by default. The watchdog and the mailbox have one each besides. A
         * master of a quorum is asked by one thread at a time, and has one for those, whatever this says.
         *
         * @param connections 1 or more
         * @throws IllegalArgumentException if it is less
         */
        public Builder maxConnections(int connections) {
            settings = settings.withMaxConnections(connections);
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
         * @throws IllegalArgumentException if the number is negative
         */
        public Builder replicaAcks(int replicas, Duration timeout) {
            settings = settings.withReplicaAcks(replicas, timeout);
            return this;
        }

        /**
         * Lets this client acquire no lock for a time after a failover that it has seen, so that a hold which the new
         * master does not know has ended before anybody can have its lock. What is held goes on, is renewed, re-entered
         * and released as ever; {@code lock()} waits; a timed try waits and then, and {@code tryLock()} at once, throws
         * {@link LockUnavailableException}. All clients should have the same.
         *
         * @param time at least the longest lease in use, at most 24 h; zero, the default, not to wait
         * @throws IllegalArgumentException if it is negative or longer
         */
        public Builder failoverGrace(Duration time) {
            settings = settings.withFailoverGrace(time);
            return this;
        }

        /**
         * How long Redis remembers the last token of a lock that nobody has any more, and whether its last hold was
         * released: for at least half of this time, and at most all of it and the lease of that hold. That takes about
         * 200 bytes for each name: 2 GB for ten million names a day. Afterwards the next token comes from the server's
         * clock alone, so it is greater unless the clock was set back by more than that, or the lock has moved to a
         * server whose clock is behind by more; and {@code previousHolderLost()} knows nothing of the holder before.
         * All clients must have the same: while they differ, as in a deployment that changes it step by step, a loss
         * may be forgotten that is up to an hour old, so that {@code previousHolderLost()} misses it and waiters in
         * Conditions sleep on.
         *
         * @param time at least a minute and four leases (on a quorum four times the {@code restartDelay}); at most, and
         *     by default, 100,000 s
         */
        public Builder tokenMemory(Duration time) {
            settings = settings.withTokenMemory(time);
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
            settings = settings.withLocalReentry(local);
            return this;
        }

        /**
         * How long {@link #build()} waits for a Redis that is not there yet, as for a service that is up before its
         * server: it tries again after half a second at most, and says so once in the log. Not for what is refused for
         * good, such as a wrong password or a server that is too old.
         *
         * @param time zero, the default, to fail at once; at most a day
         * @throws IllegalArgumentException if it is negative or longer
         */
        public Builder connectWithin(Duration time) {
            if (Objects.requireNonNull(time, "connectWithin").isNegative() || time.compareTo(MAX_CONNECT) > 0) {
                throw new IllegalArgumentException("connectWithin is " + time + ": it must lie between 0 and "
                        + MAX_CONNECT + ". Use Duration.ZERO to fail at once.");
            }
            this.connectWithin = time;
            return this;
        }

        /**
         * Makes the threads of this client; by default they are daemons that take nothing over from the thread that
         * happens to need them. The client names them {@code redis-locks-}<i>role</i>{@code -}<i>client</i>, the role
         * with the server where there are several, and the client by the last part of its
         * {@link RedisLocks#clientId()}.
         *
         * @param factory makes platform threads, which it does not start; what it throws is treated as a lack of
         *     threads
         */
        public Builder threadFactory(ThreadFactory factory) {
            threadFactory = Objects.requireNonNull(factory, "threadFactory");
            return this;
        }

        /**
         * Adds a listener, which is told what happens to locks and servers.
         *
         * @see LockListener
         */
        public Builder listener(LockListener lockListener) {
            listeners.add(Objects.requireNonNull(lockListener, "listener"));
            return this;
        }

        /** Adds a listener of losses alone. Losses are logged as warnings in any case. */
        public Builder onLockLost(Consumer<? super LockLost> action) {
            Objects.requireNonNull(action, "action");
            return listener(new LockListener() {
                @Override
                public void lost(LockLost loss) {
                    action.accept(loss);
                }
            });
        }

        /**
         * Connects.
         *
         * @throws IllegalArgumentException if settings cannot work together
         * @throws LockUnavailableException if the server does not answer, for the time of {@link #connectWithin}; also
         *     if the thread is interrupted meanwhile, which stays interrupted
         */
        public RedisLocks build() {
            JedisServers chosen = servers == null ? JedisServers.uri(DEFAULT_URI) : servers;
            // A node of a quorum keeps votes, which a client of that server alone must not take for holds.
            Settings checked =
                    (chosen.isQuorum() ? settings.withKeyPrefix(settings.keyPrefix() + ":quorum") : settings).checked();
            String id = newClientId();
            Threads threads = Threads.of(threadFactory, id.substring(id.lastIndexOf(':') + 1));
            Redis redis = chosen.open(id, checked, restartDelay, threads);
            return on(redis, id, checked, listeners, Clock.SYSTEM, threads, connectWithin);
        }
    }
}
