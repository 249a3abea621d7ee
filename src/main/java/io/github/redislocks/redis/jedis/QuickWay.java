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

/** The {@link QuickConnection} to one server, if there is one, and the time at which the next may be made. */
final class QuickWay {

    /** The pause between two tries to connect, since the server may accept no further connection. */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final Endpoint endpoint;
    private final ConnectionPool pool;
    private final QuickReader reader;
    private final Consumer<@Nullable RedisException> failures;
    /**
     * The connection that a worker is making. It is kept here to check its total time, since on a channel a timeout
     * limits only one read.
     */
    private volatile @Nullable PooledConnection making;

    private volatile @Nullable QuickConnection current;
    /** When to connect next at the earliest. The caller that moves this time has the right to connect. */
    private final AtomicLong notBeforeNanos = new AtomicLong(System.nanoTime());

    /** @param failures receives the failure of each answered call, or null */
    QuickWay(Endpoint endpoint, ConnectionPool pool, QuickReader reader, Consumer<@Nullable RedisException> failures) {
        this.endpoint = endpoint;
        this.pool = pool;
        this.reader = reader;
        this.failures = failures;
    }

    /** The pool of quick connections, of which there is one at a time. */
    static ConnectionPool pool(HostAndPort address, JedisClientConfig config, QuickReader reader) {
        return new ConnectionPool(address, config, 1, reader.nanoTime(), !PooledConnection.isOverTls(config));
    }

    /** As {@link QuickConnection#submit}; returns false if no connection may be used. */
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
            // Calls on other connections meet the same failure, and report it.
            return false;
        }
        return connection.submit(calls, timeoutNanos, receiver);
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
                // Ignored: the next try may find a thread.
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
            // Ignored: calls go on without a quick connection, more slowly, and report the same failure.
        } finally {
            making = null;
            if (!made && link != null) {
                link.cut();
            }
        }
    }

    /** Retires the connection that exists now. */
    void renew() {
        pool.renew();
    }

    void close() {
        pool.close();
    }
}
