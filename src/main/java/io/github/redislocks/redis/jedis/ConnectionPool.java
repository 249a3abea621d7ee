package io.github.redislocks.redis.jedis;

import io.github.redislocks.concurrent.Loggers;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.DefaultRedisCredentialsProvider;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.RedisCredentials;
import redis.clients.jedis.authentication.AuthXManager;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A bounded pool of connections: a place per call under way, and the connections that are idle, the last used first.
 *
 * <p>Jedis' own pool cannot hold the deadline of a call: its waiting ends on an interrupt, its time to connect is the
 * same for all, and a dead connection is replaced before the failure is told.
 */
public final class ConnectionPool {

    /**
     * After how long of silence a connection is asked first: less than the least time after which ways are forgotten.
     */
    public static final long AGED_NANOS = TimeUnit.SECONDS.toNanos(3);

    /** For how long a connection is kept that nobody needs. */
    public static final long KEPT_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** How soon after all were renewed they may be again. */
    private static final long RENEWAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Held to start a manager of tokens, which does not say whether it was started. */
    private static final ReentrantLock STARTING = new ReentrantLock();

    /** How long a connection may take at least to make, though its caller has less time: the next one finds it made. */
    private static final long LEAST_CONNECT_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final HostAndPort address;
    private final JedisClientConfig config;
    private final int bound;
    private final LongSupplier nanoTime;
    private final boolean ofChannels;
    private final Places places;
    private final ConcurrentLinkedDeque<PooledConnection> idle = new ConcurrentLinkedDeque<>();
    /** The connections that are open or are being made. */
    private final Set<PooledConnection> links = ConcurrentHashMap.newKeySet();

    private volatile boolean closed;
    private volatile boolean namesChecked = true;
    /** Connections made until then are not used any more. */
    private volatile long renewed;

    /** By a clock, of which only how long connections have been idle is told. */
    public ConnectionPool(HostAndPort address, JedisClientConfig config, int bound, LongSupplier nanoTime) {
        this(address, config, bound, nanoTime, false);
    }

    /** OfChannels: whether its connections can be used without waiting, which those over TLS cannot. */
    ConnectionPool(
            HostAndPort address, JedisClientConfig config, int bound, LongSupplier nanoTime, boolean ofChannels) {
        this.ofChannels = ofChannels;
        this.address = address;
        this.config = config;
        this.bound = bound;
        this.nanoTime = nanoTime;
        this.renewed = nanoTime.getAsLong() - RENEWAL_NANOS - 1;
        this.places = new Places(bound);
    }

    public boolean isOfChannels() {
        return ofChannels;
    }

    public int bound() {
        return bound;
    }

    public boolean isClosed() {
        return closed;
    }

    /** Takes a place, waiting for one until the deadline; an interrupt does not end the wait and is kept. */
    public boolean enter(long deadline) {
        return places.enter(deadline);
    }

    public void leave() {
        places.leave();
    }

    /**
     * An idle connection that neither a renewal nor another token forbids; null if there is none. The caller needs a
     * permit.
     */
    @Nullable
    public PooledConnection takeIdle() {
        if (idle.isEmpty()) {
            // There may be no token yet.
            return null;
        }
        // First: whatever a token throws, no connection is lost by it.
        int inForce = credentials();
        PooledConnection link = idle.pollFirst();
        while (link != null && (isOutdated(link) || link.credentials() != inForce)) {
            link.cut();
            link = idle.pollFirst();
        }
        return link;
    }

    /**
     * A connection that is still to be made, which may take a while longer than until the deadline. The caller needs a
     * permit.
     */
    public PooledConnection newConnection(long deadline) {
        try {
            awaitToken();
        } catch (RuntimeException e) {
            throw unconnected(e);
        }
        long least = System.nanoTime() + LEAST_CONNECT_NANOS;
        return new PooledConnection(this, address, config, deadline - least > 0 ? deadline : least);
    }

    /** What keeps a connection from being made. A provider of credentials may throw anything. */
    private static JedisException unconnected(RuntimeException e) {
        return e instanceof JedisException known ? known : new JedisException("No credentials: " + e, e);
    }

    /** Makes a connection. */
    public void connect(PooledConnection link) {
        links.add(link);
        boolean made = false;
        try {
            if (closed) {
                link.cut();
            }
            link.connect();
            if (!namesChecked) {
                checkName(link);
            }
            made = true;
        } catch (RuntimeException e) {
            throw unconnected(e);
        } finally {
            if (!made) {
                link.cut();
            }
        }
    }

    /** From now on the first connection shows whether the server lets connections be named, which is logged if not. */
    public void checkNames() {
        namesChecked = config.getClientName() == null;
    }

    /** Jedis does not say what became of the name that it gives each connection. */
    private void checkName(PooledConnection link) {
        try {
            link.ask(Commands.name(config.getClientName()));
            namesChecked = true;
        } catch (JedisDataException refused) {
            String text = String.valueOf(refused.getMessage());
            if (text.startsWith("NOPERM") || text.startsWith("ERR unknown")) {
                namesChecked = true;
                tellUnnamed(text);
            }
        }
    }

    private void tellUnnamed(String why) {
        Loggers.CONNECTION.info(
                "Redis at {} does not let its connections be named {} ({}), so CLIENT LIST does not tell whose they are."
                        + " Grant +client|setname.",
                address,
                config.getClientName(),
                why);
    }

    /** Waits for the first token, as Jedis' own pool does; each client may be the first to start the manager. */
    private void awaitToken() {
        AuthXManager tokens = config.getAuthXManager();
        if (tokens == null) {
            return;
        }
        STARTING.lock();
        try {
            tokens.get();
        } catch (NullPointerException notStarted) {
            tokens.start();
        } finally {
            STARTING.unlock();
        }
    }

    /** What tells the token in force from others; 0 where there are none. */
    public int credentials() {
        AuthXManager tokens = config.getAuthXManager();
        try {
            return tokens == null ? 0 : Arrays.hashCode(tokens.get().getPassword());
        } catch (RuntimeException e) {
            throw unconnected(e);
        }
    }

    /** Whether credentials that are refused now may be right later, since a provider names them. */
    public boolean hasChangingCredentials() {
        Supplier<RedisCredentials> provider = config.getCredentialsProvider();
        return config.getAuthXManager() != null
                || (provider != null && !(provider instanceof DefaultRedisCredentialsProvider));
    }

    /** Keeps it for the next call; those that nobody has needed for long go. */
    public void giveBack(PooledConnection link) {
        boolean kept = false;
        try {
            link.idleSince(nanoTime.getAsLong());
            idle.addFirst(link);
            kept = true;
        } finally {
            if (!kept) {
                link.cut();
            }
        }
        if (closed) {
            idle.clear();
        } else if (hasIdled(idle.peekLast(), KEPT_NANOS)) {
            dropIdleSince(nanoTime.getAsLong() - KEPT_NANOS);
        }
    }

    /** Whether a connection has idled for longer than a time. */
    public boolean hasIdled(@Nullable PooledConnection link, long nanos) {
        return link != null && nanoTime.getAsLong() - link.idleSince() > nanos;
    }

    /**
     * Lets no connection that exists now be used again: those in use are cut before the next use. At most once in a
     * while, since an address may go on leading to the same server.
     */
    public void renew() {
        long now = nanoTime.getAsLong();
        if (now - renewed > RENEWAL_NANOS) {
            renewed = now;
            dropIdleSince(now);
        }
    }

    /** As {@link #renew}, and closes those in use too. */
    public void renewAll() {
        long before = renewed;
        renew();
        if (renewed != before) {
            cutAll();
        }
    }

    private boolean isOutdated(PooledConnection link) {
        return link.madeAt() - renewed <= 0;
    }

    /** Whether a connection may go on to be used, since neither a renewal nor another token forbids it. */
    public boolean isInForce(PooledConnection link) {
        return !isOutdated(link) && link.credentials() == credentials();
    }

    /** The time by which the age of connections is told. */
    public long now() {
        return nanoTime.getAsLong();
    }

    /** Drops what has idled as long as one that turned out to lead nowhere, or longer. */
    public void dropAsOldAs(PooledConnection dead) {
        dropIdleSince(dead.idleSince());
    }

    private void dropIdleSince(long nanos) {
        for (PooledConnection link : idle) {
            if (link.idleSince() - nanos <= 0) {
                drop(link);
            }
        }
    }

    /** Unless somebody has taken it meanwhile. */
    private void drop(PooledConnection link) {
        if (idle.remove(link)) {
            link.cut();
        }
    }

    /** How many connections are open, or are being made. */
    public int connections() {
        return links.size();
    }

    void forget(PooledConnection link) {
        links.remove(link);
    }

    private void cutAll() {
        for (PooledConnection link : links) {
            link.cut();
        }
    }

    /** Closes all connections, those in use and those that just open too. Threads that wait for a permit see that. */
    public void close() {
        closed = true;
        idle.clear();
        cutAll();
    }
}
