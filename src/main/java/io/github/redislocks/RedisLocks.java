package io.github.redislocks;

import io.github.redislocks.concurrent.Agenda;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.engine.ClientAccess;
import io.github.redislocks.engine.LockClient;
import io.github.redislocks.engine.SeveralLocks;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.events.LossCallback;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.jedis.JedisVersion;
import io.github.redislocks.residency.Residences;
import io.github.redislocks.state.Settings;
import java.lang.management.ManagementFactory;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.SortedSet;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A factory of locks in one Redis, and the owner of what they share: the connections, the watchdog that renews holds,
 * and the subscription on which grants are received. Make one for each process and Redis, and close it at the end.
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

    static {
        ClientAccess.give(new ClientAccess() {
            @Override
            public RedisLocks build(Object builder, Redis redis, Clock clock) {
                return ((Builder) builder).build(redis, clock);
            }

            @Override
            public LockClient engine(Object client) {
                return ((RedisLocks) client).client;
            }
        });
    }

    private final LockClient client;
    /** The agenda of this client's candidates. */
    private final Agenda candidates;

    private RedisLocks(LockClient client, Threads threads) {
        this.client = client;
        this.candidates = Leadership.agenda(client.clock, threads);
    }

    /**
     * Connects with default settings.
     *
     * @param uri {@code redis://[user:password@]host[:port][/database]}; {@code rediss://} for TLS;
     *     {@code redis-sentinel://[user:password@]host[:port],host[:port]/master-name[/database]}; or
     *     {@code redis-cluster://[user:password@]host[:port],host[:port]}. Each may have parameters:
     *     {@code clientName}, {@code commandTimeout} (such as {@code 500ms}), and, if the Sentinels themselves need a
     *     login, {@code sentinelUser} and {@code sentinelPassword}
     * @throws IllegalArgumentException if the URI cannot work
     * @throws IllegalStateException if the Jedis on the class path is older than 6.0
     * @throws LockUnavailableException if the server does not answer
     */
    public static RedisLocks connect(String uri) {
        return builder().uri(uri).build();
    }

    /**
     * Connects to independent masters, of which a majority has to agree (Redlock), with default settings. A lock is
     * acquired as soon as a majority has voted for it, and survives the failure of a minority. There are no Conditions
     * and no fair locks.
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
     * Returns a builder with default settings.
     *
     * @throws IllegalStateException if the Jedis on the class path is older than 6.0
     */
    public static Builder builder() {
        return new Builder();
    }

    /** Makes a factory on a Redis of a test, which {@link #close()} closes as well. */
    static RedisLocks on(Redis redis, Settings settings, List<LockListener> listeners, Clock clock) {
        Builder builder = builder();
        builder.settings = settings;
        builder.listeners.addAll(listeners);
        return builder.build(redis, clock);
    }

    /** Name: of the client, or empty. */
    private static String newClientId(String name) {
        String vm = ManagementFactory.getRuntimeMXBean().getName();
        String host = vm.substring(vm.indexOf('@') + 1).replaceAll("[^A-Za-z0-9._-]", "_");
        String random = Long.toString(RANDOM.nextLong() >>> 4, 36);
        return host + ':' + ProcessHandle.current().pid() + ':' + (name.isEmpty() ? random : name + '.' + random);
    }

    @Override
    public RedisReentrantLock reentrantLock(String name) {
        return reentrantLock(name, PLAIN);
    }

    @Override
    public RedisReentrantLock reentrantLock(String name, LockOptions options) {
        Sync sync = client.lock(name, options.isFair(), options.over(client.settings));
        return new RedisReentrantLock(client, sync, options.isRenewed());
    }

    @Override
    public MultiLock multiLock(Collection<String> names) {
        return multiLock(names, PLAIN);
    }

    @Override
    public MultiLock multiLock(Collection<String> names, LockOptions options) {
        SeveralLocks several = client.several(names, options.isFair(), options.over(client.settings));
        return new RedisMultiLock(client, several, options.isRenewed());
    }

    @Override
    public Leadership leadership(String name, LeaderWork work, LeaderOptions options) {
        return Leadership.run(
                name, work, options, candidates, reentrantLock(name, options.lock())::acquireAsync, this::isClosed);
    }

    @Override
    public LockInspection inspect(String name) {
        return client.inspect(name);
    }

    /**
     * Counts the lock names whose last token Redis remembers; each name costs about 200 bytes until
     * {@link Builder#tokenMemory} is over. For operators: scans all keys of the database with {@code SCAN}, a thousand
     * with each request, which takes seconds if there are millions; the user needs the right {@code +scan}. A name that
     * appears or expires during the scan may be counted or not. On a quorum the result is the count of the master with
     * the most names.
     *
     * @throws IllegalStateException if this is closed
     * @throws LockUnavailableException if a server does not answer or refuses
     */
    public long countLastTokens() {
        return client.countLastTokens();
    }

    /**
     * Lists the locks that are held, kept or waited for, over all clients of this Redis and key prefix.
     *
     * <pre>{@code
     * locks.list("order:*").filter(lock -> lock.queueLength() > 10).forEach(System.out::println);
     * }</pre>
     *
     * <p>For operators: scans all keys of the database with {@code SCAN}, 25 with each request, as the stream is read;
     * the user needs the right {@code +scan}. A lock that is taken or released during the scan may be listed or not, as
     * may one in a slot of a cluster that is just being moved; keys of other programs are left out. If a server
     * restarts or is replaced meanwhile, its scan begins again, and a {@link LockUnavailableException} tells if that
     * happens five times. On a quorum each lock that is found is inspected by a request of its own.
     *
     * @param pattern a glob of lock names, as {@code KEYS} takes them: {@code *} any bytes, {@code ?} one,
     *     {@code [a-c]} one of these, a backslash before what is meant literally; a character beyond ASCII has several
     *     bytes
     * @return each lock once, in no order; reading it may throw a {@link LockUnavailableException} if a server does not
     *     answer or refuses
     * @throws IllegalArgumentException if the pattern is empty or not well formed
     * @throws IllegalStateException if this is closed
     */
    public Stream<LockSummary> list(String pattern) {
        return client.list(pattern);
    }

    LockClient client() {
        return client;
    }

    /**
     * How many locks this client holds now, for threads and for handles, without those that were lost. Asks no server.
     * Approximate while locks are acquired and released.
     */
    public long countHeld() {
        return client.countHeld();
    }

    /**
     * How many locks this client keeps for its threads, by its {@link Builder#residency residency}, that none of them
     * holds now. {@link #countHeld} does not count them. Asks no server. Approximate while locks are acquired and
     * released.
     */
    public long countResident() {
        return client.countIdle();
    }

    /**
     * The names of the locks that this client holds now, for threads and for handles; without those that were lost.
     * Asks no server.
     */
    public SortedSet<String> held() {
        return client.held();
    }

    /**
     * The names of the locks that calls of this client want, which have not returned; those that wait in a Condition
     * too. Asks no server.
     */
    public SortedSet<String> waitedFor() {
        return client.waitedFor();
    }

    /**
     * How many calls of this client want a lock and have not returned, for threads and for handles; those that wait in
     * a Condition too. Asks no server.
     */
    public long countWaiting() {
        return client.attempts.count();
    }

    /**
     * How many requests for locks this client has sent again, since one was not answered, was refused for the moment,
     * or was confirmed by too few replicas: of calls that acquire or re-enter. Not those of the background, as for
     * renewals. Asks no server.
     */
    public long countRetries() {
        return client.monitored.retries();
    }

    /**
     * How many connections this client has open to the servers that have the locks; those by which it asks Sentinels or
     * nodes where the masters are do not count. One that a server has closed may count until it is used. Asks no
     * server.
     */
    public int countConnections() {
        return client.redis.connections();
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
            throw new IllegalArgumentException("The drain is " + Shown.of(drain)
                    + ": it must not be negative. Use close() to wait for no holder.");
        }
        candidates.wrapUp();
        client.close(TimeUnit.NANOSECONDS.convert(drain));
    }

    /**
     * {@inheritDoc}
     *
     * <p>Waits for calls under way for two command timeouts at most, and ends the threads and connections.
     */
    @Override
    public void close() {
        close(Duration.ZERO);
    }

    /** Names the client, its Redis, and how many locks its threads hold and wait for. Local: asks no server. */
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
     * <p>A method that takes a value rejects one that cannot work, and {@link #build()} rejects values that cannot work
     * together, both with {@link IllegalArgumentException} and before anything is sent.
     *
     * @since 0.1.0
     */
    public static final class Builder {

        private static final String DEFAULT_URI = "redis://localhost:6379";
        private static final Duration MAX_CONNECT = Duration.ofDays(1);
        private static final Pattern CLIENT_NAME = Pattern.compile("[A-Za-z0-9_-]{1,40}");

        private @Nullable JedisServers servers;
        private @Nullable Duration restartDelay;
        private Settings settings = Settings.DEFAULTS;
        private Duration connectWithin = Duration.ZERO;
        private boolean connectLater;
        private final List<LockListener> listeners = new ArrayList<>();
        private @Nullable ThreadFactory threadFactory;
        private String clientName = "";

        private Builder() {
            JedisVersion.check();
        }

        /**
         * Sets where Redis is, as in {@link RedisLocks#connect(String)}. A command timeout in the URI has the effect of
         * {@link #commandTimeout}.
         *
         * @throws IllegalArgumentException if the URI cannot work
         */
        public Builder uri(String uri) {
            return servers(JedisServers.uri(uri));
        }

        /**
         * Sets independent masters, as in {@link RedisLocks#quorum(String...)}.
         *
         * @throws IllegalArgumentException if a URI cannot work, or they are not an odd number of different servers
         */
        public Builder quorum(String... uris) {
            return servers(JedisServers.quorum(uris));
        }

        /**
         * Sets where Redis is and how to connect to it, in types of the client library Jedis, for what a URI cannot
         * say, such as a certificate authority of one's own. If several calls say where Redis is, the last one counts.
         */
        public Builder servers(JedisServers where) {
            servers = Objects.requireNonNull(where, "servers");
            Duration time = where.commandTimeout();
            return time == null ? this : commandTimeout(time);
        }

        /**
         * Sets how long a master of a quorum gives no votes after it has started, since it may have forgotten earlier
         * votes; by default the lease. Leases that callers name must not be longer. {@link Duration#ZERO} lets it vote
         * at once, for servers that keep all their data by {@code appendfsync always}, and for tests.
         */
        public Builder restartDelay(Duration delay) {
            this.restartDelay = Objects.requireNonNull(delay, "restartDelay");
            return this;
        }

        /**
         * Sets the prefix of all keys and channels; {@code redis-locks} by default.
         *
         * @param prefix 1 to 256 characters without braces
         * @throws IllegalArgumentException if it cannot work
         */
        public Builder keyPrefix(String prefix) {
            settings = settings.withKeyPrefix(prefix);
            return this;
        }

        /**
         * Sets the lease of acquisitions that name none: how long Redis keeps a hold that nobody renews; 30 s by
         * default.
         *
         * @param defaultLease 100 ms to 24 h
         * @throws IllegalArgumentException if it is shorter or longer
         */
        public Builder lease(Duration defaultLease) {
            settings = settings.withLease(defaultLease);
            return this;
        }

        /**
         * Sets how long {@code lock()} goes on trying, from the start of an outage of Redis; 10 s by default.
         *
         * @param time 0, to give up at the first failure, to 24 h
         * @throws IllegalArgumentException if it is negative or longer
         */
        public Builder retryFor(Duration time) {
            settings = settings.withRetryFor(time);
            return this;
        }

        /**
         * Sets how long one request waits for its reply; 1 s by default.
         *
         * @param time 1 ms to a minute, and not longer than the lease if that is longer than a second
         * @throws IllegalArgumentException if it is shorter or longer
         */
        public Builder commandTimeout(Duration time) {
            settings = settings.withCommandTimeout(time);
            return this;
        }

        /**
         * Sets how many connections lock attempts share; 8 by default. The watchdog and the mailbox have one more each.
         * One thread at a time asks a master of a quorum, which therefore has one connection for lock attempts,
         * regardless of this setting.
         *
         * @param connections 1 or more
         * @throws IllegalArgumentException if it is less
         */
        public Builder maxConnections(int connections) {
            settings = settings.withMaxConnections(connections);
            return this;
        }

        /**
         * Sets how many replicas must confirm a hold before it counts, so that it survives the promotion of one of
         * them. If fewer confirm it in time, the lock is given back; {@code lock()} tries again for {@code retryFor}, a
         * timed try until its time is over, {@code tryLock()} not at all; then {@link LockUnavailableException} is
         * thrown. A hold whose renewals fewer replicas confirm is lost at its deadline. Sentinels may promote any
         * replica, so name the number of all replicas.
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
         * Sets how long this client acquires no lock after a failover that it has seen, so that a hold that the new
         * master does not know has ended before another thread can get its lock. Existing holds continue and are
         * renewed, re-entered and released as usual. {@code lock()} waits; a timed try waits and, if its time ends
         * first, throws {@link LockUnavailableException}; {@code tryLock()} throws it at once. All clients should have
         * the same setting.
         *
         * @param time at least the longest lease in use, at most 24 h; zero, the default, not to wait
         * @throws IllegalArgumentException if it is negative or longer; {@link #build()} throws it if the time is
         *     shorter than the {@link #lease}
         */
        public Builder failoverGrace(Duration time) {
            settings = settings.withFailoverGrace(time);
            return this;
        }

        /**
         * Sets how long Redis remembers the last token of a free lock, and whether its last hold was released: at least
         * half of this time, and at most this time plus the lease of that hold. The memory takes about 200 bytes for
         * each name, so 2 GB for ten million names a day. Afterwards the next token comes from the server's clock
         * alone. It is still greater unless the clock was set back by more than that time, or the lock has moved to a
         * server whose clock is behind by more; and {@code previousHolderLost()} knows nothing about the previous
         * holder. All clients must have the same setting. While they differ, for instance during a rolling deployment,
         * a loss that is up to an hour old may be forgotten, so that {@code previousHolderLost()} misses it and waiters
         * in Conditions stay asleep.
         *
         * @param time at least a minute and four leases (on a quorum four times the {@code restartDelay}); at most, and
         *     by default, 100,000 s
         */
        public Builder tokenMemory(Duration time) {
            settings = settings.withTokenMemory(time);
            return this;
        }

        /**
         * Sets whether a thread that holds a lock re-enters it, and leaves it again, without a request. A re-entry
         * needs no request if the hold lasts long enough: a renewed hold does for callers that name no lease, any other
         * hold while its deadline is far enough ahead. With this setting a re-entry extends no lease, only the watchdog
         * does; a hold that was removed in Redis is noticed at its next renewal and not at a re-entry; and Redis shows
         * the count of the outermost acquisition only.
         *
         * @param local false, the default, to write every re-entry to Redis
         */
        public Builder localReentry(boolean local) {
            settings = settings.withLocalReentry(local);
            return this;
        }

        /**
         * Sets for how long this client keeps a lock that none of its threads holds any more. Until then its threads
         * lock and unlock it without a request; another client that wants it asks for it, and gets it when the present
         * hold has ended. A process that dies with a lock that it keeps costs the others the rest of the lease, as one
         * that held it.
         *
         * <p>Fair locks, locks with a {@link #maxHold} and calls that name a lease are not kept, nor are handles and
         * several locks at once. See docs/residency.md for what differs.
         *
         * @param time 1 ms to 24 h, about the time between two uses of a lock by one process; zero, the default, to
         *     release each lock at its unlock
         * @throws IllegalArgumentException if it is shorter or longer
         */
        public Builder residency(Duration time) {
            settings = settings.withResidency(time);
            return this;
        }

        /**
         * Sets how many locks this client keeps by its {@link #residency} at the same time though none of its threads
         * holds them, so that a process that uses ever new names does not keep ever more. When there are more, some of
         * those that were not used for longest are given up in the background: one in sixteen, and at least one.
         *
         * @param locks 1 to 1,000,000; 10,000 by default
         * @throws IllegalArgumentException if it is less or more
         */
        public Builder maxResident(int locks) {
            settings = settings.withMaxResident(locks);
            return this;
        }

        /**
         * Sets how long one hold may last, so that a thread that hangs does not keep a lock for ever. A hold is renewed
         * until that time after it was acquired, and is then lost as {@link LockLost.Reason#HELD_TOO_LONG}, before
         * another can have the lock; a holder that does not ask goes on. When two thirds of the time are over, a
         * warning is logged and {@link LockListener#expiring} is called.
         *
         * <p>It is the limit of the object that acquired the hold. Re-entries do not make the hold last longer; a wait
         * in a Condition ends it, and the thread returns with a new one. A lease that is longer is cut, also one that a
         * call names.
         *
         * @param time 100 ms to 30 days; zero, the default, for no limit
         * @throws IllegalArgumentException if it is shorter or longer
         */
        public Builder maxHold(Duration time) {
            settings = settings.withMaxHold(time);
            return this;
        }

        /**
         * Sets whether a holder learns at once when somebody deletes, flushes or evicts its lock in Redis: within
         * milliseconds, instead of by its next renewal, a third of the lease later. Redis reports changes of the keys
         * of held locks to this client, which then asks Redis about the hold; the answer counts. It costs one request
         * in the background for each hold that lasts 20 ms, shared by up to 32 of them, and none for shorter ones; the
         * connection of the mailbox is open from the start. After a broken connection there may be no report until the
         * next renewal. In a cluster each hold is asked for by itself, and each master that has held locks costs a
         * connection and a thread besides.
         *
         * <p>The user in Redis needs the rights {@code +client|id +client|tracking +client|caching} and the channel
         * {@code __redis__:invalidate} besides. On a quorum {@link #build()} throws
         * {@link UnsupportedOperationException}.
         *
         * <pre>{@code
         * RedisLocks locks = RedisLocks.builder().uri(uri).watchDeletions(true).build();
         * }</pre>
         *
         * @param watched false, the default, to leave it to the renewals
         */
        public Builder watchDeletions(boolean watched) {
            settings = settings.withWatchDeletions(watched);
            return this;
        }

        /**
         * Sets after how long a wait for a lock is logged, as a warning to {@code io.github.redislocks.slow}, with who
         * holds the lock, which is asked of Redis in the background. Each wait is logged once at most, and of one lock
         * once in that time, for all threads that wait here; a candidate of a {@link Leadership} too, which waits by
         * its nature. The background work looks at least that often.
         *
         * @param time 10 ms to 24 h; zero, the default, to log none
         * @throws IllegalArgumentException if it is shorter or longer
         */
        public Builder slowWait(Duration time) {
            settings = settings.withSlowWait(time);
            return this;
        }

        /**
         * Sets after how long a hold is logged, while it lasts: once, as a warning to
         * {@code io.github.redislocks.slow}, with the thread or handle that has it. It is logged up to an eighth of
         * that time late, so that many holds cost little.
         *
         * @param time 10 ms to 24 h; zero, the default, to log none
         * @throws IllegalArgumentException if it is shorter or longer
         */
        public Builder slowHold(Duration time) {
            settings = settings.withSlowHold(time);
            return this;
        }

        /**
         * Sets how long {@link #build()} waits for a Redis that is not available yet, for instance because the service
         * starts before its server. It tries again after half a second at most, and logs once that it waits. It does
         * not wait if a refusal is permanent, such as a wrong password or a server that is too old.
         *
         * @param time zero, the default, to fail at once; at most a day
         * @throws IllegalArgumentException if it is negative or longer
         */
        public Builder connectWithin(Duration time) {
            if (Objects.requireNonNull(time, "connectWithin").isNegative() || time.compareTo(MAX_CONNECT) > 0) {
                throw new IllegalArgumentException("connectWithin is " + Shown.of(time) + ": it must lie between 0 and "
                        + Shown.of(MAX_CONNECT) + ". Use Duration.ZERO to fail at once.");
            }
            this.connectWithin = time;
            return this;
        }

        /**
         * Sets whether {@link #build()} returns without a Redis that is not available, after it has waited for
         * {@link #connectWithin}. Until Redis is there, calls behave as during an outage that began with
         * {@link #build()}; then they work, and the log says so. A refusal that is permanent, such as a wrong password,
         * fails as it does otherwise, if the server is there to tell; later it is logged.
         *
         * <pre>{@code
         * RedisLocks locks = RedisLocks.builder().uri(uri).connectLater(true).build();
         * }</pre>
         *
         * @param later false, the default, to fail without Redis
         */
        public Builder connectLater(boolean later) {
            this.connectLater = later;
            return this;
        }

        /**
         * Sets the factory of this client's threads; by default they are daemons that inherit nothing from the thread
         * that first needs them. The client names them {@code redis-locks-}<i>role</i>{@code -}<i>client</i>: the role
         * includes the server if there are several, and the client is the last part of its
         * {@link RedisLocks#clientId()}.
         *
         * @param factory makes platform threads without starting them; an exception from it is treated as a lack of
         *     threads
         */
        public Builder threadFactory(ThreadFactory factory) {
            threadFactory = Objects.requireNonNull(factory, "threadFactory");
            return this;
        }

        /**
         * Sets a name of this client for people, such as the application's. It is a part of
         * {@link RedisLocks#clientId()}, {@code host:pid:}<i>name</i>{@code .random}, and so of each owner, which
         * {@link Locks#inspect} shows, and of the names of this client's threads.
         *
         * @param name of 1 to 40 characters of {@code A-Z a-z 0-9 _ -}
         * @throws IllegalArgumentException if it has others, or is longer
         */
        public Builder clientName(String name) {
            if (!CLIENT_NAME.matcher(name).matches()) {
                throw new IllegalArgumentException("clientName is \"" + name
                        + "\", and has to have 1 to 40 characters of A-Z, a-z, 0-9, _ and -, since it becomes a part of"
                        + " each owner's name: replace the others.");
            }
            clientName = name;
            return this;
        }

        /**
         * Adds a listener for what happens to locks and servers.
         *
         * @see LockListener
         */
        public Builder listener(LockListener lockListener) {
            listeners.add(Objects.requireNonNull(lockListener, "listener"));
            return this;
        }

        /** Adds a listener for losses only. Losses are logged as warnings in any case. */
        public Builder onLockLost(Consumer<? super LockLost> action) {
            Objects.requireNonNull(action, "action");
            return listener(new LossCallback(action));
        }

        /**
         * Connects.
         *
         * @throws IllegalArgumentException if settings cannot work together
         * @throws LockUnavailableException if the server does not answer, for the time of {@link #connectWithin}; also
         *     if the thread is interrupted meanwhile, which stays interrupted; or if the server refuses
         *     {@link #watchDeletions}
         * @throws UnsupportedOperationException for {@link #watchDeletions} on a quorum
         * @throws IllegalStateException if the {@link #threadFactory} makes no thread, or a virtual one
         */
        public RedisLocks build() {
            JedisServers chosen = servers == null ? JedisServers.uri(DEFAULT_URI) : servers;
            // A node of a quorum keeps votes, which a client that uses that server alone must not take for holds.
            Settings checked =
                    (chosen.isQuorum() ? settings.withKeyPrefix(settings.keyPrefix() + ":quorum") : settings).checked();
            return build(checked, Clock.SYSTEM, (id, threads) -> chosen.open(id, checked, restartDelay, threads));
        }

        /** Makes a client of another Redis, by another clock, for tests. */
        RedisLocks build(Redis redis, Clock clock) {
            if (servers != null) {
                redis.close();
                throw new IllegalArgumentException("The settings name a server, " + redis.address()
                        + " is another: leave uri, servers and quorum out, and set what holds for any Redis.");
            }
            return build(settings.checked(), clock, (id, threads) -> redis);
        }

        private RedisLocks build(Settings checked, Clock clock, BiFunction<String, Threads, Redis> open) {
            String id = newClientId(clientName);
            Threads threads = Threads.of(threadFactory, id.substring(id.lastIndexOf(':') + 1));
            Redis redis = open.apply(id, threads);
            boolean started = false;
            try {
                RedisLocks locks = new RedisLocks(
                        new LockClient(id, checked, listeners, clock, redis, threads, Residences::new), threads);
                locks.client.start(connectWithin, connectLater);
                started = true;
                return locks;
            } finally {
                if (!started) {
                    redis.close();
                }
            }
        }
    }
}
