package io.github.redislocks.redis.jedis;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.exceptions.JedisException;

/** The way to one server on which calls are begun and not waited for: a {@link QuickConnection}, if there is one. */
final class QuickWay {

    /** How soon it is tried again to connect: it may be one connection too many. */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final Endpoint endpoint;
    private final ConnectionPool pool;
    private final QuickReader reader;
    private final Consumer<@Nullable RedisException> failures;
    /** The connection that a worker makes: on a channel each read has a time, not all reads together. */
    private volatile @Nullable PooledConnection making;

    private volatile @Nullable QuickConnection current;
    /** When to connect next at the earliest. The caller that moves this time has the right to connect. */
    private final AtomicLong notBeforeNanos = new AtomicLong(System.nanoTime());

    /** Failures: told the failure of each call that was answered, or null. */
    QuickWay(Endpoint endpoint, ConnectionPool pool, QuickReader reader, Consumer<@Nullable RedisException> failures) {
        this.endpoint = endpoint;
        this.pool = pool;
        this.reader = reader;
        this.failures = failures;
    }

    /** The connections of such a way, of which there is one at a time. */
    static ConnectionPool pool(HostAndPort address, JedisClientConfig config, QuickReader reader) {
        return new ConnectionPool(address, config, 1, reader.nanoTime(), !PooledConnection.isOverTls(config));
    }

    /** As {@link QuickConnection#begin}; false if there is no connection that may be used. */
    boolean begin(String server, List<Call> calls, long timeoutNanos, Consumer<@Nullable List<Outcome>> heard) {
        QuickConnection connection = current;
        if (connection == null || connection.isDead()) {
            return false;
        }
        try {
            boolean leadsThere = connection.server().equals(server);
            if (!leadsThere || !pool.isInForce(connection.link()) || connection.isAged()) {
                connection.retire();
                return false;
            }
        } catch (JedisException noCredentials) {
            // The slow way meets the same, and says so.
            return false;
        }
        return connection.begin(calls, timeoutNanos, heard);
    }

    /** Has a worker connect, unless there is a connection or the pause since the last try lasts. Does not wait. */
    void connect(long timeoutNanos) {
        QuickConnection last = current;
        if ((last != null && !last.isDead()) || !pool.isOfChannels()) {
            return;
        }
        long now = System.nanoTime();
        long notBefore = notBeforeNanos.get();
        if (now - notBefore < 0) {
            PooledConnection late = making;
            if (late != null && late.isOverdue()) {
                late.cut();
            }
        } else if (notBeforeNanos.compareAndSet(notBefore, now + PAUSE_NANOS)) {
            try {
                endpoint.workers().execute(() -> connectNow(timeoutNanos));
            } catch (RejectedExecutionException e) {
                // The next try may find a thread.
            }
        }
    }

    private void connectNow(long timeoutNanos) {
        PooledConnection link = null;
        boolean made = false;
        try {
            link = pool.newConnection(System.nanoTime() + timeoutNanos);
            making = link;
            pool.connect(link);
            String server = Commands.runId(link.ask(Commands.server()));
            QuickConnection fresh = new QuickConnection(endpoint, pool, link, server, failures);
            reader.add(fresh);
            current = fresh;
            made = true;
            notBeforeNanos.set(System.nanoTime());
        } catch (IOException | RuntimeException e) {
            // Calls go on without a quick connection, which takes longer, and meet the same failure.
        } finally {
            making = null;
            if (!made && link != null) {
                link.cut();
            }
        }
    }

    /** Lets the connection that exists now not be used again. */
    void renew() {
        pool.renew();
    }

    void close() {
        pool.close();
    }
}
