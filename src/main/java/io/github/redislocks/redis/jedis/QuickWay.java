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

/** The {@link QuickConnection} to one server, if there is one. Makes the next one, but not too often. */
final class QuickWay {

    /** The least time between two tries to connect: a server may accept no further connection. */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final Endpoint endpoint;
    private final ConnectionPool pool;
    private final QuickReader reader;
    private final Consumer<@Nullable RedisException> failures;
    /**
     * The connection that a worker is making. On a channel a timeout limits only one read, so {@link #connect} checks
     * the total time.
     */
    private volatile @Nullable PooledConnection making;

    private volatile @Nullable QuickConnection current;
    /** The earliest time of the next try to connect. The caller that moves this time makes the try. */
    private final AtomicLong notBeforeNanos = new AtomicLong(System.nanoTime());

    /** @param failures receives, for each answered call, the failure or null */
    QuickWay(Endpoint endpoint, ConnectionPool pool, QuickReader reader, Consumer<@Nullable RedisException> failures) {
        this.endpoint = endpoint;
        this.pool = pool;
        this.reader = reader;
        this.failures = failures;
    }

    /** Makes the pool for the quick connection. */
    static ConnectionPool pool(HostAndPort address, JedisClientConfig config, QuickReader reader) {
        return new ConnectionPool(address, config, 1, reader.nanoTime(), !PooledConnection.isOverTls(config));
    }

    /** Sends calls as {@link QuickConnection#submit} does. Returns false without a connection to this server. */
    boolean submit(String server, List<Call> calls, long timeoutNanos, Consumer<@Nullable List<Outcome>> receiver) {
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
            // Ignored: calls on other connections meet the same failure, and report it.
            return false;
        }
        return connection.submit(calls, timeoutNanos, receiver);
    }

    /**
     * Makes a worker connect, without waiting. Does nothing if there is a connection, or if the last try was a short
     * time ago.
     */
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
                // Ignored: no thread could be started. There will be another try.
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
            // Ignored: without a quick connection calls go another way, which is slower, and report the same failure.
        } finally {
            making = null;
            if (!made && link != null) {
                link.cut();
            }
        }
    }

    /** Retires the present connection. */
    void renew() {
        pool.renew();
    }

    void close() {
        pool.close();
    }
}
