package io.github.redislocks.client;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.ServerRequirements;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Remedy;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.watchdog.PendingCommand;
import io.github.redislocks.watchdog.Watchdog;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Checks the server when a client connects and after each failover. After a failover, it also makes the client ask the
 * new server about everything again: its time, every hold and every place in the queue.
 */
public final class FailoverGuard {

    /** A time that no client outlives. Its sum with a time of the clock does not overflow. */
    private static final long FOR_EVER_NANOS = Long.MAX_VALUE / 2;
    /** The pause between two checks of a replica, which may become the master. */
    private static final long REPLICA_PAUSE_NANOS = 10_000_000_000L;

    private final String clientId;
    private final String mailbox;
    private final Settings settings;
    private final Clock clock;
    private final Redis redis;
    private final MonitoredRedis monitored;
    private final ServerTimes times;
    private final FailoverEpoch epoch;
    private final Watchdog watchdog;
    private final Attempts attempts;
    /** Whether the last try to connect failed for a reason that may disappear with time. */
    private boolean mayPass;

    public FailoverGuard(String clientId, RedisAccess access, Watchdog watchdog, Attempts attempts) {
        this.clientId = clientId;
        this.mailbox = LockKeys.mailbox(access.settings().keyPrefix(), clientId);
        this.settings = access.settings();
        this.clock = access.clock();
        this.redis = access.redis();
        this.monitored = access.monitored();
        this.times = access.serverTimes();
        this.epoch = access.epoch();
        this.watchdog = watchdog;
        this.attempts = attempts;
    }

    /**
     * Checks the server, and reads its time, from which the deadlines of requests are computed. Throws if the server is
     * unsuitable, or does not become available within {@code connectWithin}.
     *
     * @param goOn whether to return false, instead of throwing, if the server is not available yet
     * @return whether the server is available; if not, call {@link #lookLater}
     */
    public boolean start(Duration connectWithin, boolean goOn) {
        redis.onMoved(this::moved);
        Backoff backoff = Backoff.ofRequests();
        long began = clock.nanoTime();
        boolean said = false;
        while (true) {
            try {
                look();
                return true;
            } catch (LockUnavailableException e) {
                long left = connectWithin.toNanos() - (clock.nanoTime() - began);
                if (left <= 0 || !mayPass || Thread.currentThread().isInterrupted()) {
                    if (!goOn || !mayPass) {
                        throw e;
                    }
                    tellOfGoingOn(e);
                    return false;
                }
                if (!said) {
                    said = true;
                    tellOfWaiting(e, connectWithin);
                }
                clock.park(this, Math.min(left, backoff.next()));
            }
        }
    }

    private static void tellOfWaiting(LockUnavailableException e, Duration connectWithin) {
        Loggers.CONNECTION.warn(
                "{} This client waits for it, for {} at most.", e.getMessage(), Shown.of(connectWithin));
    }

    private static void tellOfGoingOn(LockUnavailableException e) {
        Loggers.CONNECTION.warn(
                "{} This client goes on without it: locks can be acquired once it is available.", e.getMessage());
    }

    /**
     * Starts a check in the background, which succeeds once the server is available. Until then, each call finds out by
     * itself whether the server is available.
     */
    public void lookLater() {
        monitored.connected();
        Call check = check();
        String key = check.keys().get(0);
        watchdog.run(new PendingCommand(clock, key, clock.nanoTime() + FOR_EVER_NANOS) {
            @Override
            public Call call() {
                return check;
            }

            @Override
            public long follow(Reply answer, long sentNanos) {
                times.saw(redis.serverOf(key), answer, sentNanos);
                ServerRequirements server = new ServerRequirements(redis.address(), answer);
                String objection = server.objection();
                if (objection != null) {
                    Loggers.CONNECTION.error(objection);
                    return server.isReplica() ? REPLICA_PAUSE_NANOS : DONE;
                }
                if (monitored.hasOneSlot() && server.hasSlots()) {
                    monitored.hasSlots();
                }
                tellOf(server, null);
                return DONE;
            }
        });
    }

    private void tellOf(ServerRequirements server, @Nullable String warning) {
        warn(server);
        if (warning != null) {
            Loggers.CONNECTION.warn(warning);
        }
        Loggers.CONNECTION.info(
                "Connected to Redis {} at {} as client {}", server.version(), redis.address(), clientId);
    }

    private String remedy(RedisException failure) {
        if (failure instanceof RedisException.Refused refused && refused.says("ERR unknown command")) {
            List<String> masters = redis.mastersOfSentinel(settings.commandTimeoutNanos());
            if (!masters.isEmpty()) {
                return "It is a Sentinel: write redis-sentinel://" + redis.address() + "/"
                        + String.join(" or ", masters) + ", better with all Sentinels.";
            }
        }
        return Remedy.of(failure);
    }

    /**
     * Why a server cannot notify this client of changed keys; null if all servers can. Of several servers, those that
     * do not answer are skipped.
     */
    private @Nullable String objectionToWatching() {
        List<? extends Redis> servers = redis.servers();
        for (Redis server : servers) {
            try {
                String objection =
                        ServerRequirements.objectionToWatching(server, mailbox, settings.commandTimeoutNanos());
                if (objection != null) {
                    return objection;
                }
            } catch (RedisException.Unanswered e) {
                if (servers.size() == 1) {
                    throw e;
                }
            }
        }
        return null;
    }

    private void look() {
        Call check = check().with(settings.acks());
        try {
            redis.find(check.keys().get(0), settings.commandTimeoutNanos());
            long sent = clock.nanoTime();
            Reply answer = checked(check);
            times.saw(redis.serverOf(check.keys().get(0)), answer, sent);
            ServerRequirements server = new ServerRequirements(redis.address(), answer);
            monitored.isAcknowledged(check.keys().get(0), answer, sent);
            String objection = server.objection();
            if (objection == null && monitored.hasOneSlot() && server.hasSlots()) {
                monitored.hasSlots();
                objection = ServerRequirements.objectionToSlots(
                        redis, settings.keyPrefix(), settings.commandTimeoutNanos());
            }
            if (objection == null && settings.watchDeletions()) {
                objection = objectionToWatching();
            }
            if (objection != null) {
                mayPass = server.isReplica();
                throw LockUnavailableException.builder(
                                LockUnavailableException.Reason.UNSUITABLE, redis.address(), objection)
                        .build();
            }
            openBackgroundConnection();
            // Each node of a quorum checks its own server, so a quorum needs no check of subscriptions here.
            String warning = redis.hasLines()
                    ? ServerRequirements.warningOfSubscribing(redis, mailbox, settings.commandTimeoutNanos())
                    : null;
            monitored.connected();
            tellOf(server, warning);
        } catch (RedisException e) {
            String text = ServerRequirements.isElsewhere(e)
                    ? ServerRequirements.tooSmall(redis.address())
                    : "Redis cannot be used: " + e.getMessage() + ". " + remedy(e);
            mayPass = !e.isPermanent() && !(e.getCause() instanceof RedisException cause && cause.isPermanent());
            throw LockUnavailableException.builder(UnavailableMessages.reasonOf(e), redis.address(), text)
                    .cause(e)
                    .build();
        }
    }

    /**
     * Runs the check, and repeats it if a failover replaced the master meanwhile: a failover must not make the start
     * fail.
     */
    private Reply checked(Call check) {
        long deadline = clock.nanoTime() + settings.commandTimeoutNanos();
        String key = check.keys().get(0);
        while (true) {
            String server = redis.serverOf(key);
            try {
                return monitored.run(check, Math.max(1, deadline - clock.nanoTime()));
            } catch (RedisException.Unanswered e) {
                if (redis.serverOf(key).equals(server) || deadline - clock.nanoTime() <= 0) {
                    throw e;
                }
            }
        }
    }

    /**
     * Opens the connection for background work now. If the first renewal opened it, that renewal would fail on a server
     * that accepts no more clients.
     */
    private void openBackgroundConnection() {
        Call first = Inspections.locked(LockKeys.ofNobody(settings.keyPrefix()));
        String server = redis.serverOf(first.keys().get(0));
        RedisException failure = redis.runAll(List.of(first), settings.commandTimeoutNanos())
                .get(0)
                .failure();
        // If another master has just taken over, ignore the failure: moved() has the new master checked in the
        // background, and that check opens the new master's connection for background work.
        if (failure != null && redis.serverOf(first.keys().get(0)).equals(server)) {
            throw failure;
        }
    }

    /**
     * Called after a failover: makes the client ask the new server about its time, every hold and every place in the
     * queue.
     */
    private void moved() {
        long now = clock.nanoTime();
        times.forget(now);
        monitored.moved();
        epoch.next(now + settings.failoverGraceNanos());
        attempts.hurry();
        Call check = check();
        long until = now + settings.leftoverNanos(settings.leaseMillis());
        watchdog.run(new PendingCommand(clock, check.keys().get(0), until) {
            @Override
            public Call call() {
                return check;
            }

            @Override
            public long follow(Reply answer, long sentNanos) {
                tell(answer);
                return DONE;
            }
        });
    }

    private Call check() {
        return Inspections.check(settings.keyPrefix(), mailbox);
    }

    private static void warn(ServerRequirements server) {
        for (String warning : server.warnings()) {
            Loggers.CONNECTION.warn(warning);
        }
    }

    /** Logs what is wrong with the server that has become the master by a failover. */
    private void tell(Reply check) {
        ServerRequirements server = new ServerRequirements(redis.address(), check);
        warn(server);
        String objection = server.objection();
        if (objection != null) {
            Loggers.CONNECTION.error(objection);
        }
    }
}
