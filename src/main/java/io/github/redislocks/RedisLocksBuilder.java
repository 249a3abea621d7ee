package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.events.LossCallback;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.jedis.JedisVersion;
import io.github.redislocks.state.Settings;
import java.lang.management.ManagementFactory;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadFactory;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A builder of {@link RedisLocks}. Collects the settings; {@link #build()} connects.
 *
 * <pre>{@code
 * RedisLocks locks = RedisLocks.builder()
 *         .uri("redis://localhost:6379")
 *         .lease(Duration.ofSeconds(10))
 *         .onLockLost(loss -> alarms.add(loss))
 *         .build();
 * }</pre>
 *
 * <p>Each method rejects a value that cannot work, and {@link #build()} rejects values that cannot work together. Both
 * throw {@link IllegalArgumentException}, before anything is sent.
 *
 * @since 0.1.0
 */
public final class RedisLocksBuilder {

    private static final SecureRandom RANDOM = new SecureRandom();
    private static final String DEFAULT_URI = "redis://localhost:6379";
    private static final Duration MAX_CONNECT = Duration.ofDays(1);
    private static final Pattern CLIENT_NAME = Pattern.compile("[A-Za-z0-9_-]{1,40}");

    private @Nullable JedisServers servers;
    private @Nullable Duration restartDelay;
    Settings settings = Settings.DEFAULTS;
    private Duration connectWithin = Duration.ZERO;
    private boolean connectLater;
    final List<LockListener> listeners = new ArrayList<>();
    private @Nullable ThreadFactory threadFactory;
    private String clientName = "";

    RedisLocksBuilder() {
        JedisVersion.check();
    }

    /**
     * Sets where Redis is, as in {@link RedisLocks#connect(String)}. A command timeout in the URI has the effect of
     * {@link #commandTimeout}.
     *
     * @throws IllegalArgumentException if the URI cannot work
     */
    public RedisLocksBuilder uri(String uri) {
        return servers(JedisServers.uri(uri));
    }

    /**
     * Sets independent masters, as in {@link RedisLocks#quorum(String...)}.
     *
     * @throws IllegalArgumentException if a URI cannot work, or the URIs do not name an odd number of different servers
     */
    public RedisLocksBuilder quorum(String... uris) {
        return servers(JedisServers.quorum(uris));
    }

    /**
     * Sets where Redis is and how to connect to it, in types of the client library Jedis, for settings that a URI
     * cannot express, such as a private certificate authority. If several calls set where Redis is, the last call
     * counts.
     */
    public RedisLocksBuilder servers(JedisServers where) {
        servers = Objects.requireNonNull(where, "servers");
        Duration time = where.commandTimeout();
        return time == null ? this : commandTimeout(time);
    }

    /**
     * Sets how long a master of a quorum gives no votes after its start, since it may have forgotten earlier votes; by
     * default the lease. A lease in {@link LockOptions} must not be longer than this delay. {@link Duration#ZERO} lets
     * a master vote at once: for servers that keep all their data by {@code appendfsync always}, and for tests.
     */
    public RedisLocksBuilder restartDelay(Duration delay) {
        this.restartDelay = Objects.requireNonNull(delay, "restartDelay");
        return this;
    }

    /**
     * Sets the prefix of all keys and channels; {@code redis-locks} by default.
     *
     * @param prefix 1 to 256 characters without braces
     * @throws IllegalArgumentException if the prefix cannot work
     */
    public RedisLocksBuilder keyPrefix(String prefix) {
        settings = settings.withKeyPrefix(prefix);
        return this;
    }

    /**
     * Sets the lease: how long Redis keeps a hold that nobody renews; 30 s by default. {@link LockOptions} may set
     * another lease for a lock object.
     *
     * @param defaultLease 100 ms to 24 h
     * @throws IllegalArgumentException if the time is shorter or longer
     */
    public RedisLocksBuilder lease(Duration defaultLease) {
        settings = settings.withLease(defaultLease);
        return this;
    }

    /**
     * Sets how long {@code lock()} goes on trying during an outage of Redis, counted from the start of the outage; 10 s
     * by default.
     *
     * @param time 0 to 24 h; 0 means to give up at the first failure
     * @throws IllegalArgumentException if the time is negative or longer
     */
    public RedisLocksBuilder retryFor(Duration time) {
        settings = settings.withRetryFor(time);
        return this;
    }

    /**
     * Sets how long one request waits for its reply; 1 s by default.
     *
     * @param time 1 ms to 1 minute, and at most the lease, or at most 1 s if the lease is shorter than that
     * @throws IllegalArgumentException if the time is shorter or longer
     */
    public RedisLocksBuilder commandTimeout(Duration time) {
        settings = settings.withCommandTimeout(time);
        return this;
    }

    /**
     * Sets how many connections to one server the lock attempts share; 8 by default. Renewals have one more connection,
     * and the subscription that receives grants has another. A quorum ignores this setting: it has one connection for
     * lock attempts to each master, since one thread at a time asks that master.
     *
     * @param connections 1 or more
     * @throws IllegalArgumentException if the number is less than 1
     */
    public RedisLocksBuilder maxConnections(int connections) {
        settings = settings.withMaxConnections(connections);
        return this;
    }

    /**
     * Sets how many replicas must confirm a hold before it counts, so that the hold survives the promotion of one of
     * these replicas. If fewer replicas confirm an acquisition in time, the client releases the lock and tries again:
     * {@code lock()} for {@code retryFor}, a timed try until its time is over, {@code tryLock()} not at all. Then
     * {@link LockUnavailableException} is thrown. If fewer replicas confirm the renewals of a hold, the hold is lost at
     * its deadline. Sentinels may promote any replica, so use the number of all replicas. Each acquisition waits for
     * the replicas for half of the {@link #commandTimeout} at most.
     *
     * @param replicas 0 or more; 0, the default, to wait for no replica
     * @throws IllegalArgumentException if the number is negative
     */
    public RedisLocksBuilder replicaAcks(int replicas) {
        settings = settings.withReplicaAcks(replicas);
        return this;
    }

    /**
     * Sets how long this client waits after a failover before it acquires locks again. A hold that the new master does
     * not know ends in that time, so no other owner gets the lock while that hold lasts. Existing holds continue, and
     * are renewed, re-entered and released as usual. Until that time is over, {@code lock()} waits. A timed try waits
     * as well, and throws {@link LockUnavailableException} if its own time ends first. {@code tryLock()} throws that
     * exception at once. All clients should have the same setting.
     *
     * @param time at least the longest lease in use and at most 24 h; or zero, the default, not to wait
     * @throws IllegalArgumentException if the time is negative or longer than 24 h; {@link #build()} throws this
     *     exception if the time is shorter than the {@link #lease}
     */
    public RedisLocksBuilder failoverGrace(Duration time) {
        settings = settings.withFailoverGrace(time);
        return this;
    }

    /**
     * Sets how long Redis remembers two facts of a free lock: the last token, and whether the last hold was released.
     * Redis remembers them for at least half of this time, and for at most this time plus the lease of that hold: about
     * 200 bytes for each name, or 2 GB for ten million names a day. The size of unused {@link Permits} is kept as long.
     *
     * <p>After that, {@code previousHolderLost()} knows nothing about the previous holder, and the next token comes
     * from the server's clock alone. That token is still greater than the last one, unless the clock was set back by
     * more than this time, or the lock has moved to a server whose clock is behind by more than this time.
     *
     * <p>All clients must have the same setting. While the settings differ, for instance during a rolling deployment, a
     * loss that is up to an hour old may be forgotten: {@code previousHolderLost()} misses it, and waiters in
     * Conditions are not woken.
     *
     * @param time at least one minute and at least four leases, or four {@code restartDelay}s on a quorum; at most
     *     100,000 s, which is the default
     */
    public RedisLocksBuilder tokenMemory(Duration time) {
        settings = settings.withTokenMemory(time);
        return this;
    }

    /**
     * Sets whether a thread that holds a lock re-enters the lock, and undoes the re-entry, without a request to Redis.
     * A re-entry needs no request if the hold is renewed. A re-entry with a fixed lease needs no request if the hold
     * lasts at least that long. Then a re-entry neither extends the lease nor notices that the hold was removed from
     * Redis: only the renewals do so. Redis shows a hold count of one, whatever the re-entries.
     *
     * @param local false, the default, to write every re-entry to Redis
     */
    public RedisLocksBuilder localReentry(boolean local) {
        settings = settings.withLocalReentry(local);
        return this;
    }

    /**
     * Sets how long this client keeps a lock in Redis after its last thread has unlocked it. Meanwhile the threads of
     * this client lock and unlock it without a request. Another client that wants the lock asks this client, which
     * releases the lock as soon as no thread holds it. If the process dies while it keeps a lock, other clients have to
     * wait until the lease ends, as for a lock that is held.
     *
     * <p>A client does not keep fair locks, locks with a {@link #maxHold}, and locks that are acquired with a
     * {@link LockOptions#fixedLease}, for a handle, or as several locks at once. A client keeps 10,000 unused locks at
     * most; if there are more, it releases those that have been unused for the longest time. On a quorum
     * {@link #build()} throws {@link UnsupportedOperationException}. See docs/residency.md for what differs.
     *
     * @param time 1 ms to 24 h, about the time between two uses of a lock by one process; or zero, the default, to
     *     release each lock at its unlock
     * @throws IllegalArgumentException if the time is shorter or longer
     */
    public RedisLocksBuilder residency(Duration time) {
        settings = settings.withResidency(time);
        return this;
    }

    /**
     * Sets how long one hold may last, so that a thread that hangs does not hold a lock for ever. A hold is renewed
     * until this time after its acquisition. Then it is lost with the reason {@link LockLost.Reason#HELD_TOO_LONG},
     * before another owner can acquire the lock. The thread itself is not stopped, and learns of the loss only if it
     * asks, for instance by {@link FencedLock#ensureHeld}. After two thirds of the time, a warning is logged and
     * {@link LockListener#expiring} is called.
     *
     * <p>The limit of the lock object that acquired the hold counts. Re-entries do not make the hold last longer. A
     * wait in a Condition ends the hold, and the thread returns from the wait with a new hold. A lease that is longer
     * than this time is shortened to it.
     *
     * @param time 100 ms to 30 days; or zero, the default, for no limit
     * @throws IllegalArgumentException if the time is shorter or longer
     */
    public RedisLocksBuilder maxHold(Duration time) {
        settings = settings.withMaxHold(time);
        return this;
    }

    /**
     * Sets whether a holder learns within milliseconds that its lock was deleted, flushed or evicted in Redis.
     * Otherwise the holder learns of it at the next renewal, up to a third of the lease later. Redis reports changes of
     * the keys of held locks to this client, which then asks Redis whether the hold still exists.
     *
     * <p>This setting costs one background request for up to 32 holds that have lasted for 20 ms; shorter holds cost
     * nothing. The connection that receives messages is open from the start. After a connection has broken, there may
     * be no report until the next renewal. A cluster costs more: one request for each hold, and a connection and a
     * thread for each master that has held locks.
     *
     * <p>The user in Redis also needs the rights {@code +client|id +client|tracking +client|caching} and the channel
     * {@code __redis__:invalidate}. On a quorum {@link #build()} throws {@link UnsupportedOperationException}.
     *
     * <pre>{@code
     * RedisLocks locks = RedisLocks.builder().uri(uri).watchDeletions(true).build();
     * }</pre>
     *
     * @param watched false, the default, to notice such changes only by the renewals
     */
    public RedisLocksBuilder watchDeletions(boolean watched) {
        settings = settings.withWatchDeletions(watched);
        return this;
    }

    /**
     * Sets how long a wait for a lock may last before it is logged, as a warning of the logger
     * {@code io.github.redislocks.slow} that names the holder. The client asks Redis for the holder in the background.
     * Each wait is logged once at most. For each lock there is at most one warning in this time, for all threads of
     * this client. A {@link Leadership} that waits to lead is logged as well. A thread that waits for another thread of
     * this client under a {@link #residency residency} is not logged: use {@link #slowHold} for the holder. The
     * watchdog runs at least once in this time.
     *
     * @param time 10 ms to 24 h; zero, the default, to log none
     * @throws IllegalArgumentException if the time is shorter or longer
     */
    public RedisLocksBuilder slowWait(Duration time) {
        settings = settings.withSlowWait(time);
        return this;
    }

    /**
     * Sets how long a hold may last before it is logged, once, as a warning of the logger
     * {@code io.github.redislocks.slow} that names the thread or handle. The warning may come late by up to an eighth
     * of this time, so that checking many holds costs little.
     *
     * @param time 10 ms to 24 h; zero, the default, to log none
     * @throws IllegalArgumentException if the time is shorter or longer
     */
    public RedisLocksBuilder slowHold(Duration time) {
        settings = settings.withSlowHold(time);
        return this;
    }

    /**
     * Sets how long {@link #build()} waits for a Redis that is not available yet, for instance because the service
     * starts before its Redis. {@link #build()} tries again at least every half second, and logs once that it waits.
     * After a permanent refusal, such as a wrong password or a server that is too old, {@link #build()} does not wait.
     *
     * @param time up to 24 h; zero, the default, to fail at once
     * @throws IllegalArgumentException if the time is negative or longer
     */
    public RedisLocksBuilder connectWithin(Duration time) {
        if (Objects.requireNonNull(time, "connectWithin").isNegative() || time.compareTo(MAX_CONNECT) > 0) {
            throw new IllegalArgumentException("connectWithin is " + Shown.of(time) + ": it must lie between 0 and "
                    + Shown.of(MAX_CONNECT) + ". Use Duration.ZERO to fail at once.");
        }
        this.connectWithin = time;
        return this;
    }

    /**
     * Sets whether {@link #build()} returns, after waiting for {@link #connectWithin}, even if Redis is not available.
     * Until Redis is available, calls behave as during an outage that began with {@link #build()}. Once Redis is
     * available, calls work, and a log entry says so. If the server refuses permanently, for instance because of a
     * wrong password, {@link #build()} throws as without this setting. A permanent refusal after {@link #build()} is
     * logged.
     *
     * <pre>{@code
     * RedisLocks locks = RedisLocks.builder().uri(uri).connectLater(true).build();
     * }</pre>
     *
     * @param later false, the default, to throw if Redis is not available
     */
    public RedisLocksBuilder connectLater(boolean later) {
        this.connectLater = later;
        return this;
    }

    /**
     * Sets the factory of this client's threads. By default the threads are daemons, and inherit nothing from the
     * thread that starts them. The client names them {@code redis-locks-}<i>role</i>{@code -}<i>client</i>. The role
     * includes the server if there are several; <i>client</i> is the last part of the {@link RedisLocks#clientId()}.
     *
     * @param factory makes platform threads and does not start them; an exception from the factory is treated as a lack
     *     of threads
     */
    public RedisLocksBuilder threadFactory(ThreadFactory factory) {
        threadFactory = Objects.requireNonNull(factory, "threadFactory");
        return this;
    }

    /**
     * Sets a name for this client, such as the name of the application. The name is a part of the
     * {@link RedisLocks#clientId()}: {@code host:pid:}<i>name</i>{@code .random}. {@link Locks#inspect} shows the name
     * in each owner, and the names of this client's threads contain it.
     *
     * @param name 1 to 40 of the characters {@code A-Z a-z 0-9 _ -}
     * @throws IllegalArgumentException if the name has other characters, or is empty or longer
     */
    public RedisLocksBuilder clientName(String name) {
        if (!CLIENT_NAME.matcher(name).matches()) {
            throw new IllegalArgumentException("clientName is \"" + name
                    + "\", and has to have 1 to 40 characters of A-Z, a-z, 0-9, _ and -, since it becomes a part of"
                    + " each owner's name: replace the others.");
        }
        clientName = name;
        return this;
    }

    /**
     * Adds a listener for the events of locks and servers.
     *
     * @see LockListener
     */
    public RedisLocksBuilder listener(LockListener lockListener) {
        listeners.add(Objects.requireNonNull(lockListener, "listener"));
        return this;
    }

    /** Adds a listener only for losses. Losses are also logged as warnings, with or without a listener. */
    public RedisLocksBuilder onLockLost(Consumer<? super LockLost> action) {
        Objects.requireNonNull(action, "action");
        return listener(new LossCallback(action));
    }

    /**
     * Connects to Redis and makes the {@link RedisLocks}.
     *
     * @throws IllegalArgumentException if settings cannot work together
     * @throws LockUnavailableException if the server does not answer within {@link #connectWithin}, if the server
     *     refuses, or if the calling thread is interrupted meanwhile, whose interrupt flag then stays set
     * @throws UnsupportedOperationException for {@link #watchDeletions} or {@link #residency} on a quorum
     * @throws IllegalStateException if the {@link #threadFactory} makes no thread or a virtual thread
     */
    public RedisLocks build() {
        JedisServers chosen = servers == null ? JedisServers.uri(DEFAULT_URI) : servers;
        // Give a quorum another key prefix: a client that uses one of the masters as a single server must not take
        // votes for holds.
        Settings checked =
                (chosen.isQuorum() ? settings.withKeyPrefix(settings.keyPrefix() + ":quorum") : settings).checked();
        return build(checked, Clock.SYSTEM, (id, threads) -> chosen.open(id, checked, restartDelay, threads));
    }

    /** Makes a client for a test, on the given Redis and with the given clock. */
    RedisLocks build(Redis redis, Clock clock) {
        if (servers != null) {
            redis.close();
            throw new IllegalArgumentException("The settings name a server, but this client is to use "
                    + redis.address() + ": leave uri, servers and quorum out.");
        }
        return build(settings.checked(), clock, (id, threads) -> redis);
    }

    private RedisLocks build(Settings checked, Clock clock, BiFunction<String, Threads, Redis> open) {
        String id = newClientId(clientName);
        Threads threads = Threads.of(threadFactory, id.substring(id.lastIndexOf(':') + 1));
        Redis redis = open.apply(id, threads);
        boolean started = false;
        try {
            RedisLocks locks = new RedisLocks(new LockClient(id, checked, listeners, clock, redis, threads), threads);
            locks.client().start(connectWithin, connectLater);
            started = true;
            return locks;
        } finally {
            if (!started) {
                redis.close();
            }
        }
    }

    /** Makes the id of a new client. An empty {@code name} stands for a client without a name. */
    private static String newClientId(String name) {
        String vm = ManagementFactory.getRuntimeMXBean().getName();
        String host = vm.substring(vm.indexOf('@') + 1).replaceAll("[^A-Za-z0-9._-]", "_");
        String random = Long.toString(RANDOM.nextLong() >>> 4, 36);
        return host + ':' + ProcessHandle.current().pid() + ':' + (name.isEmpty() ? random : name + '.' + random);
    }
}
