package io.github.redislocks.redis;

import java.io.IOException;
import java.net.Socket;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.DefaultRedisCredentialsProvider;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.RedisCredentials;
import redis.clients.jedis.authentication.AuthXManager;

/**
 * A bounded pool of connections: a place per call under way, and the connections that are idle, the last used first.
 *
 * <p>Jedis' own pool cannot hold the deadline of a call: its waiting ends on an interrupt, its time to connect is the
 * same for all, and a dead connection is replaced before the failure is told.
 */
final class Connections {

    /** Less than the idle times of the load balancers, firewalls and servers that are in use: 50 s and more. */
    static final long AGED_NANOS = TimeUnit.SECONDS.toNanos(30);

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
    private final Places places;
    private final ConcurrentLinkedDeque<Link> idle = new ConcurrentLinkedDeque<>();
    private final Set<Door> making = ConcurrentHashMap.newKeySet();
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;
    /** Connections made until then are not used any more. */
    private volatile long renewed;

    Connections(HostAndPort address, JedisClientConfig config, int bound) {
        this(address, config, bound, System::nanoTime);
    }

    /** By a clock, of which only how long connections have been idle is told. */
    Connections(HostAndPort address, JedisClientConfig config, int bound, LongSupplier nanoTime) {
        this.address = address;
        this.config = config;
        this.bound = bound;
        this.nanoTime = nanoTime;
        this.renewed = nanoTime.getAsLong() - RENEWAL_NANOS - 1;
        this.places = new Places(bound);
    }

    int bound() {
        return bound;
    }

    boolean isClosed() {
        return closed;
    }

    /** Takes a place, waiting for one until the deadline; an interrupt does not end the wait and is kept. */
    boolean enter(long deadline) {
        while (!places.enter(making.isEmpty() ? deadline : firstOverdue(deadline))) {
            if (deadline - System.nanoTime() <= 0) {
                return false;
            }
            shutOverdue();
        }
        return true;
    }

    void leave() {
        places.leave();
    }

    /** A connection that was used before, and not with an earlier token, if one is idle. Only for who has a place. */
    @Nullable
    Link takeIdle() {
        if (idle.isEmpty()) {
            // There may be no token yet.
            return null;
        }
        // First: whatever a token throws, no connection is lost by it.
        int inForce = credentials();
        Link link = idle.pollFirst();
        while (link != null && link.door().credentials() != inForce) {
            link.cut();
            link = idle.pollFirst();
        }
        return link;
    }

    /** The way to a new connection, which may take a while longer than until the deadline. Only for who has a place. */
    Door newDoor(long deadline) {
        awaitToken();
        long least = System.nanoTime() + LEAST_CONNECT_NANOS;
        long until = deadline - least > 0 ? deadline : least;
        return new Door(address, config, Link.millisUntil(until), until, this);
    }

    /** Makes the connection. */
    Link connected(Door door) {
        making.add(door);
        try {
            return new Link(door);
        } finally {
            making.remove(door);
        }
    }

    private long firstOverdue(long deadline) {
        long first = deadline;
        for (Door door : making) {
            first = door.untilNanos() - first < 0 ? door.untilNanos() : first;
        }
        return first;
    }

    /** Ends what goes on greeting for ever: each read of it is in time. */
    private void shutOverdue() {
        long now = System.nanoTime();
        making.removeIf(door -> {
            boolean overdue = now - door.untilNanos() >= 0;
            if (overdue) {
                door.shut();
            }
            return overdue;
        });
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
    int credentials() {
        AuthXManager tokens = config.getAuthXManager();
        return tokens == null ? 0 : Arrays.hashCode(tokens.get().getPassword());
    }

    /** Whether credentials that are refused now may be right later, since a provider names them. */
    boolean hasChangingCredentials() {
        Supplier<RedisCredentials> provider = config.getCredentialsProvider();
        return config.getAuthXManager() != null
                || (provider != null && !(provider instanceof DefaultRedisCredentialsProvider));
    }

    /** Keeps it for the next call; those that nobody has needed for long go. */
    void giveBack(Link link) {
        link.idleSince(nanoTime.getAsLong());
        idle.addFirst(link);
        if (isOutdated(link)) {
            drop(this::isOutdated);
        }
        if (closed) {
            drop(any -> true);
        } else if (isAged(idle.peekLast())) {
            drop(this::isAged);
        }
    }

    /** Whether a connection has idled for so long that somebody on the way may have forgotten it. */
    boolean isAged(@Nullable Link link) {
        return link != null && nanoTime.getAsLong() - link.idleSince() > AGED_NANOS;
    }

    /**
     * Lets no connection that exists now be used again: those in use go when they are given back. At most once in a
     * while, since an address may go on leading to the same server.
     */
    void renew() {
        long now = nanoTime.getAsLong();
        if (now - renewed > RENEWAL_NANOS) {
            renewed = now;
            drop(this::isOutdated);
        }
    }

    /** As {@link #renew}, and closes those in use too. */
    void renewAll() {
        long before = renewed;
        renew();
        if (renewed != before) {
            sockets.forEach(this::shut);
        }
    }

    private boolean isOutdated(Link link) {
        return link.madeAt() - renewed <= 0;
    }

    /** The time by which the age of connections is told. */
    long now() {
        return nanoTime.getAsLong();
    }

    /** Drops what has idled as long as one that turned out to lead nowhere, or longer. */
    void dropAsOldAs(Link dead) {
        drop(link -> link.idleSince() - dead.idleSince() <= 0);
    }

    private void drop(Predicate<Link> which) {
        for (Link link : idle) {
            // Somebody may have taken it meanwhile.
            if (which.test(link) && idle.remove(link)) {
                link.cut();
            }
        }
    }

    void opened(Socket socket) {
        sockets.add(socket);
        if (closed) {
            shut(socket);
        }
    }

    void shut(Socket socket) {
        sockets.remove(socket);
        try {
            socket.close();
        } catch (IOException e) {
            // It is of no more use, closed or not.
        }
    }

    /** Closes all connections, those in use and those that just open too. Who waits for a place finds out by itself. */
    void close() {
        closed = true;
        idle.clear();
        sockets.forEach(this::shut);
    }
}
