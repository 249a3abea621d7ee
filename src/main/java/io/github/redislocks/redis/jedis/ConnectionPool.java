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
 * A bounded pool of connections. A call needs a permit of the pool. The idle connections are a stack: the connection
 * that was used last is taken first.
 *
 * <p>Jedis' own pool cannot keep the deadline of a call: an interrupt ends the wait for a connection, all calls have
 * the same time to connect, and a dead connection is replaced before its failure is reported.
 */
public final class ConnectionPool {

    /**
     * How long a connection may be idle before it is tested before use. Firewalls forget a connection later than that.
     */
    public static final long AGED_NANOS = TimeUnit.SECONDS.toNanos(3);

    /** How long the pool keeps an idle connection. */
    public static final long KEPT_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** The least time between two calls of {@link #renew} that have an effect. */
    private static final long RENEWAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Held while a manager of login tokens is started: no method of a manager tells whether it was started. */
    private static final ReentrantLock STARTING = new ReentrantLock();

    /** The least time for making a connection. If the caller has less time, the connection is for the next caller. */
    private static final long LEAST_CONNECT_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final HostAndPort address;
    private final JedisClientConfig config;
    private final int bound;
    private final LongSupplier nanoTime;
    private final boolean ofChannels;
    private final ConnectionPermits permits;
    private final ConcurrentLinkedDeque<PooledConnection> idle = new ConcurrentLinkedDeque<>();
    /** The connections that are open or being made. */
    private final Set<PooledConnection> links = ConcurrentHashMap.newKeySet();

    private volatile boolean closed;
    private volatile boolean namesChecked = true;
    /** Connections that were made before this time are no longer used. */
    private volatile long renewed;

    /**
     * Makes a pool.
     *
     * @param nanoTime the clock for idle times
     */
    public ConnectionPool(HostAndPort address, JedisClientConfig config, int bound, LongSupplier nanoTime) {
        this(address, config, bound, nanoTime, false);
    }

    /**
     * @param ofChannels whether each connection has a channel, so that it can be used without waiting. Impossible with
     *     TLS
     */
    ConnectionPool(
            HostAndPort address, JedisClientConfig config, int bound, LongSupplier nanoTime, boolean ofChannels) {
        this.ofChannels = ofChannels;
        this.address = address;
        this.config = config;
        this.bound = bound;
        this.nanoTime = nanoTime;
        this.renewed = nanoTime.getAsLong() - RENEWAL_NANOS - 1;
        this.permits = new ConnectionPermits(bound);
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

    /**
     * Waits for a permit and takes it, until {@code deadline} at most. An interrupt does not end the wait; its flag is
     * set again.
     */
    public boolean enter(long deadline) {
        return permits.enter(deadline);
    }

    public void leave() {
        permits.leave();
    }

    /** Takes an idle connection, which is not retired; null if there is none. The caller needs a permit. */
    @Nullable
    public PooledConnection takeIdle() {
        if (idle.isEmpty()) {
            // Without an idle connection, there is no login token to compare.
            return null;
        }
        // Read the credentials before a connection is taken: the token manager may throw, and the connection would be
        // lost.
        int inForce = credentials();
        PooledConnection link = idle.pollFirst();
        while (link != null && (isOutdated(link) || link.credentials() != inForce)) {
            link.cut();
            link = idle.pollFirst();
        }
        return link;
    }

    /**
     * Makes a connection, which the caller has to open by {@link #connect}. Opening may take until the deadline, or
     * somewhat longer. The caller needs a permit.
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

    /**
     * Makes the exception for a connection that could not be made. A provider of credentials may throw any exception.
     */
    private static JedisException unconnected(RuntimeException e) {
        return e instanceof JedisException known ? known : new JedisException("No credentials: " + e, e);
    }

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

    /**
     * From now on, the next new connection tests whether the server allows a connection to have a name. A refusal is
     * logged.
     */
    public void checkNames() {
        namesChecked = config.getClientName() == null;
    }

    /** Names the connection again, since Jedis ignores the reply to its own command for the name. */
    private void checkName(PooledConnection link) {
        try {
            link.ask(Commands.name(config.getClientName()));
            namesChecked = true;
        } catch (JedisDataException refused) {
            String text = String.valueOf(refused.getMessage());
            if (text.startsWith("NOPERM") || text.startsWith("ERR unknown")) {
                namesChecked = true;
                logUnnamed(text);
            }
        }
    }

    private void logUnnamed(String why) {
        Loggers.CONNECTION.info(
                "Redis at {} does not let its connections be named {} ({}), so CLIENT LIST does not show their client."
                        + " Grant +client|setname.",
                address,
                config.getClientName(),
                why);
    }

    /**
     * Waits for the first login token, as Jedis' own pool does. Starts the token manager if no other client has done
     * so.
     */
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

    /** A hash of the present login token, to tell it from other tokens; 0 without login tokens. */
    public int credentials() {
        AuthXManager tokens = config.getAuthXManager();
        try {
            return tokens == null ? 0 : Arrays.hashCode(tokens.get().getPassword());
        } catch (RuntimeException e) {
            throw unconnected(e);
        }
    }

    /** Whether credentials may change, since a provider supplies them: refused credentials may be valid later. */
    public boolean hasChangingCredentials() {
        Supplier<RedisCredentials> provider = config.getCredentialsProvider();
        return config.getAuthXManager() != null
                || (provider != null && !(provider instanceof DefaultRedisCredentialsProvider));
    }

    /** Keeps a connection for the next call. Closes connections that have been idle for long. */
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

    /** Whether the connection has been idle for longer than {@code nanos}. */
    public boolean hasIdled(@Nullable PooledConnection link, long nanos) {
        return link != null && nanoTime.getAsLong() - link.idleSince() > nanos;
    }

    /**
     * Retires all connections: none is used for another call. Has an effect at most once in {@link #RENEWAL_NANOS},
     * since the address may still lead to the same server.
     */
    public void renew() {
        long now = nanoTime.getAsLong();
        if (now - renewed > RENEWAL_NANOS) {
            renewed = now;
            dropIdleSince(now);
        }
    }

    /** Retires all connections as {@link #renew} does, and also closes those in use at once. */
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

    /** Whether a connection may be used: it is not retired, and was made with the present login token. */
    public boolean isInForce(PooledConnection link) {
        return !isOutdated(link) && link.credentials() == credentials();
    }

    /** The present time by the clock for idle times. */
    public long now() {
        return nanoTime.getAsLong();
    }

    /** Closes the connections that have been idle for at least as long as a dead connection. */
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

    /** Closes an idle connection, unless a call has taken the connection meanwhile. */
    private void drop(PooledConnection link) {
        if (idle.remove(link)) {
            link.cut();
        }
    }

    /** The number of connections that are open or being made. */
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

    /**
     * Closes all connections, also connections in use and being made. Wakes the threads that wait for a permit: they
     * find the pool closed.
     */
    public void close() {
        closed = true;
        idle.clear();
        cutAll();
    }
}
