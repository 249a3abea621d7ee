package io.github.redislocks.cli.demo;

import io.github.redislocks.cli.demo.Ledger.Entry;
import io.github.redislocks.redis.connect.RedisUri;
import io.github.redislocks.redis.topology.Topology;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.SetParams;

/** The data that the processes of a sale share in Redis: the stock, the ledger, the start signal and the lock. */
final class Shop implements AutoCloseable {

    /** The name of the lock. */
    static final String LOCK = "stock";

    private static final int OPENING_SECONDS = 30;
    /** The time after which the data expire, if a signal has prevented their deletion. */
    private static final long KEPT_SECONDS = 3_600;

    private final String prefix;
    private final String uri;
    /** The connection of each thread. Not a pool, which would need one more library. */
    private final ConcurrentMap<Thread, Jedis> connections = new ConcurrentHashMap<>();

    Shop(String uri, String prefix) {
        this.prefix = prefix;
        this.uri = uri;
    }

    private Jedis redis() {
        return connections.computeIfAbsent(Thread.currentThread(), first -> connect(uri));
    }

    /**
     * Makes a connection. It connects at its first use.
     *
     * @throws IllegalArgumentException if the URL does not name one server
     */
    static Jedis connect(String url) {
        RedisUri uri = RedisUri.parse(url);
        if (uri.topology() instanceof Topology.Single server) {
            return new Jedis(
                    server.address().host(),
                    server.address().port(),
                    uri.configs().server());
        }
        throw new IllegalArgumentException("The demo keeps its stock on one server: name a redis:// or rediss:// URL.");
    }

    /** The holder of the lock, as the field {@code owner} in Redis names it. */
    record Holder(long pid, long threadId) {

        /** Reads {@code host:pid:random:threadId}. */
        static Holder parse(String owner) {
            String[] fields = owner.split(":", -1);
            return new Holder(Long.parseLong(fields[1]), Long.parseLong(fields[3]));
        }
    }

    int stock() {
        return Integer.parseInt(redis().get(key("left")));
    }

    void setStock(int items) {
        redis().set(key("left"), Integer.toString(items), SetParams.setParams().ex(KEPT_SECONDS));
    }

    void record(Entry entry) {
        append("ledger", entry.text());
    }

    /** Appends to a list, and has the list expire: in one step, since a signal may come between two. */
    private void append(String list, String text) {
        try (AbstractTransaction both = redis().multi()) {
            both.rpush(key(list), text);
            both.expire(key(list), KEPT_SECONDS);
            both.exec();
        }
    }

    int sold() {
        return (int) redis().llen(key("ledger"));
    }

    Ledger ledger(int initialStock) {
        return new Ledger(
                initialStock,
                redis().lrange(key("ledger"), 0, -1).stream().map(Entry::parse).toList());
    }

    /**
     * Gives the processes the start signal.
     *
     * @param processes the number of processes
     */
    void open(int processes) {
        for (int i = 0; i < processes; i++) {
            append("opening", "open");
        }
    }

    void awaitOpening() {
        if (redis().blpop(OPENING_SECONDS, key("opening")) == null) {
            throw new IllegalStateException("The sale did not open in " + OPENING_SECONDS + " s.");
        }
    }

    Optional<Holder> holder() {
        return Optional.ofNullable(redis().hget(lockKey(), "owner")).map(Holder::parse);
    }

    /** The length of the lock's queue in Redis. All threads of a process share an entry. */
    int waiters() {
        return (int) redis().zcard(lockKey() + ":queue");
    }

    /** Describes the state in Redis, for the message about a sale that hangs. */
    String state() {
        try {
            return "keys %s:*, sold %d, stock left %s, lock %s with a lease of %d ms left, in line %s"
                    .formatted(
                            prefix,
                            sold(),
                            redis().get(key("left")),
                            redis().hgetAll(lockKey()),
                            redis().pttl(lockKey()),
                            redis().zrangeWithScores(lockKey() + ":queue", 0, -1));
        } catch (JedisException e) {
            return "it does not answer (" + e.getMessage() + ")";
        }
    }

    void clear() {
        redis().del(key("left"), key("ledger"), key("opening"));
        redis().del(lockKey(), lockKey() + ":queue", lockKey() + ":waiters", lockKey() + ":fence");
    }

    private String key(String name) {
        return prefix + ":" + name;
    }

    private String lockKey() {
        return prefix + ":{" + LOCK + "}";
    }

    @Override
    public void close() {
        connections.values().forEach(Jedis::close);
    }
}
