package io.github.redislocks;

import io.github.redislocks.actions.Candidacy;
import io.github.redislocks.client.ClientAccess;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Agenda;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.several.SeveralLocks;
import io.github.redislocks.shared.ShareLock;
import io.github.redislocks.state.PermitOwner;
import io.github.redislocks.state.PermitPool;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.SortedSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A factory of locks in one Redis, and the owner of their shared parts: the connections, the watchdog that renews
 * holds, and the subscription on which grants are received. Make one for each process and Redis, and close it at the
 * end.
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

    private static final LockOptions PLAIN = LockOptions.defaults();

    static {
        ClientAccess.give(new ClientAccess() {
            @Override
            public RedisLocks build(Object builder, Redis redis, Clock clock) {
                return ((RedisLocksBuilder) builder).build(redis, clock);
            }

            @Override
            public LockClient engine(Object client) {
                return ((RedisLocks) client).client;
            }
        });
    }

    private final LockClient client;
    /** Drives the candidates of this client's leaderships. */
    private final Agenda candidates;

    RedisLocks(LockClient client, Threads threads) {
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
     * @throws LockUnavailableException if the server does not answer, or refuses
     */
    public static RedisLocks connect(String uri) {
        return builder().uri(uri).build();
    }

    /**
     * Connects to a <em>quorum</em> with default settings: several independent masters, of which a majority has to
     * agree (Redlock). A lock is acquired as soon as a majority has voted for it, and survives the failure of a
     * minority. A quorum supports neither Conditions nor fair locks nor {@link LockHandle#releaseAfter}.
     *
     * @param uris the URIs, as in {@link #connect}, of an odd number of masters, 3 or more; no master may be a replica
     *     of another
     * @throws IllegalArgumentException if a URI cannot work, or the URIs do not name an odd number of different servers
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
    public static RedisLocksBuilder builder() {
        return new RedisLocksBuilder();
    }

    /** Makes a factory for a test. {@link #close()} also closes the given Redis. */
    static RedisLocks on(Redis redis, Settings settings, List<LockListener> listeners, Clock clock) {
        RedisLocksBuilder builder = builder();
        builder.settings = settings;
        builder.listeners.addAll(listeners);
        return builder.build(redis, clock);
    }

    @Override
    public RedisReentrantLock reentrantLock(String name) {
        return reentrantLock(name, PLAIN);
    }

    @Override
    public RedisReentrantLock reentrantLock(String name, LockOptions options) {
        return new RedisReentrantLock(client, client.lock(name, options.isFair(), options.over(client.settings)));
    }

    @Override
    public RedisReentrantReadWriteLock readWriteLock(String name) {
        return readWriteLock(name, PLAIN);
    }

    @Override
    public RedisReentrantReadWriteLock readWriteLock(String name, LockOptions options) {
        Settings own = options.over(client.settings);
        if (!own.isRenewed()) {
            throw new IllegalArgumentException("The fixedLease is " + Shown.of(own.lease())
                    + ", of a read-write lock: its readers share one hold, which is renewed while any of them reads."
                    + " Set a lease instead.");
        }
        Sync writer = client.lock(name, options.isFair(), own.withResidency(Duration.ZERO));
        ShareLock share = client.readLock(writer, own.withMaxHold(Duration.ZERO));
        return new RedisReentrantReadWriteLock(client, new RedisReentrantLock(client, writer), share);
    }

    @Override
    public MultiLock multiLock(Collection<String> names) {
        return multiLock(names, PLAIN);
    }

    @Override
    public MultiLock multiLock(Collection<String> names, LockOptions options) {
        options.checkNotKept("several locks", "a client keeps single locks, and its threads take each by itself.");
        SeveralLocks several = client.several(names, options.isFair(), options.over(client.settings));
        return new RedisMultiLock(client, several);
    }

    @Override
    public Leadership leadership(String name, LeaderWork work, LeaderOptions options) {
        return Leadership.run(
                name,
                work,
                options,
                new Candidacy.Electorate(
                        candidates, reentrantLock(name, options.lock())::acquireAsync, this::isClosed));
    }

    @Override
    public Permits permits(String name, int size) {
        return new RedisPermits(client, client.pool(name, size));
    }

    @Override
    public LockInspection inspect(String name) {
        return client.inspect(name);
    }

    /**
     * Counts the lock names whose last token Redis remembers. Redis remembers the token of a name for the
     * {@link RedisLocksBuilder#tokenMemory}, which takes about 200 bytes.
     *
     * <p>This method is for operators: it scans all keys of the database with {@code SCAN}, 1,000 keys with each
     * request, which takes seconds if there are millions of keys. The user in Redis needs the right {@code +scan}. A
     * name that appears or expires during the scan may be counted or not. On a quorum the result is the greatest count
     * of any master.
     *
     * @throws IllegalStateException if this is closed
     * @throws LockUnavailableException if a server does not answer or refuses
     */
    public long countLastTokens() {
        return client.countLastTokens();
    }

    /**
     * Lists the locks that are not free or that somebody waits for, over all clients of this Redis and key prefix. A
     * lock is not free while a thread or a handle holds it, while a client keeps it by its
     * {@link RedisLocksBuilder#residency}, and until the time of {@link LockHandle#releaseAfter} is over.
     *
     * <pre>{@code
     * locks.list("order:*").filter(lock -> lock.queueLength() > 10).forEach(System.out::println);
     * }</pre>
     *
     * <p>This method is for operators: while the stream is read, it scans all keys of the database with {@code SCAN},
     * 25 keys with each request. The user in Redis needs the right {@code +scan}. A lock that is acquired or released
     * during the scan may be listed or not, and so may a lock whose slot is being moved to another node of a cluster.
     * Keys of other programs are left out. If a server restarts or is replaced during the scan, the scan of this server
     * starts again; after five such changes a {@link LockUnavailableException} is thrown. On a quorum one more request
     * inspects each lock that the scan finds.
     *
     * @param pattern a glob of lock names, as for the command {@code KEYS}: {@code *} matches any bytes, {@code ?} one
     *     byte, {@code [a-c]} one of these bytes; a backslash makes the next character literal. A character beyond
     *     ASCII has several bytes
     * @return each lock once, in no particular order; reading the stream throws a {@link LockUnavailableException} if a
     *     server does not answer or refuses
     * @throws IllegalArgumentException if the pattern is empty or not well formed
     * @throws IllegalStateException if this is closed
     */
    public Stream<LockSummary> list(String pattern) {
        return client.list().list(pattern);
    }

    /**
     * Lists the pools of permits of which permits are held or waited for, over all clients of this Redis and key
     * prefix. Scans all keys as {@link #list} does, and asks for each pool by one more request. A quorum has no pools.
     *
     * @param pattern a glob of names, as for {@link #list}
     * @return each pool once, in no particular order; reading the stream throws a {@link LockUnavailableException} if a
     *     server does not answer or refuses
     * @throws IllegalArgumentException if the pattern is empty or not well formed
     * @throws IllegalStateException if this is closed
     */
    public Stream<PermitsInspection> listPermits(String pattern) {
        return client.list()
                .pools(pattern)
                .map(keys -> client.queries().inspect(new PermitPool(keys, 1)))
                .filter(pool -> !pool.held().isEmpty() || !pool.waiting().isEmpty());
    }

    LockClient client() {
        return client;
    }

    /**
     * The number of locks that threads and handles of this client hold now. Lost holds do not count. Asks no server.
     * The number is approximate while locks are acquired and released.
     */
    public long countHeld() {
        return client.countHeld();
    }

    /**
     * The number of locks under which threads or handles of this client read now: {@link #readWriteLock}.
     * {@link #countHeld} counts each of them once, however many read. Asks no server.
     */
    public long countRead() {
        return client.held().filter(hold -> hold.owner.isShared()).count();
    }

    /**
     * The number of permits that handles of this client have now: {@link #permits}. {@link #countHeld} counts the
     * handles. Asks no server.
     */
    public long countPermits() {
        return client.held()
                .mapToLong(hold -> hold.owner instanceof PermitOwner owner ? owner.count : 0)
                .sum();
    }

    /**
     * The number of locks that this client keeps by its {@link RedisLocksBuilder#residency residency} although none of
     * its threads holds them now. {@link #countHeld} does not count these locks. Asks no server. The number is
     * approximate while locks are acquired and released.
     */
    public long countResident() {
        return client.countIdle();
    }

    /**
     * The names of the locks that threads and handles of this client hold now. Lost holds do not count. Asks no server.
     */
    public SortedSet<String> heldNames() {
        return client.heldNames();
    }

    /**
     * The names of the locks for which an acquisition of this client is under way, including waits in a Condition. Asks
     * no server.
     */
    public SortedSet<String> waitedForNames() {
        return client.waitedForNames();
    }

    /**
     * The number of acquisitions of this client that are under way, for threads and for handles, including waits in a
     * Condition. Asks no server.
     */
    public long countWaitingCalls() {
        return client.countWaitingCalls();
    }

    /**
     * How many requests this client has sent again to acquire or re-enter a lock, because an earlier request was not
     * answered, was refused temporarily, or was confirmed by too few replicas. Background requests, such as renewals,
     * do not count. Asks no server.
     */
    public long countRetries() {
        return client.monitored.retries();
    }

    /**
     * The number of open connections of this client to the servers that have the locks. Connections on which the client
     * asks Sentinels or cluster nodes for the masters do not count. A connection that the server has closed may count
     * until the client uses it next. Asks no server.
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
        try {
            candidates.wrapUp();
        } finally {
            client.close(TimeUnit.NANOSECONDS.convert(drain));
        }
    }

    /**
     * {@inheritDoc}
     *
     * <p>Waits for calls that are under way, for two command timeouts at most. Then ends the threads of this client and
     * closes its connections.
     */
    @Override
    public void close() {
        close(Duration.ZERO);
    }

    /** Describes the client: its id, its Redis, and how many locks its threads hold and wait for. Asks no server. */
    @Override
    public String toString() {
        return client.toString();
    }
}
