package io.github.redislocks.redis.sentinel;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Servers;
import io.github.redislocks.redis.SingleServer;
import io.github.redislocks.redis.topology.Topology;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A Redis whose master is named by Sentinels. When another server becomes the master, the connections to the old master
 * are closed, since its replies must not count any more: subscriptions break, and calls under way fail as unanswered.
 */
public final class SentinelRedis implements Redis {

    private final String masterName;
    private final Servers servers;
    private final Sentinels sentinels;
    private volatile @Nullable SingleServer master;
    private volatile Runnable onMoved = () -> {};
    /** Whether the listener must still run for the new master. Used only by the thread that calls {@link #found}. */
    private boolean moved;

    public SentinelRedis(
            Topology.Sentinel topology, Servers servers, Servers sentinels, long timeoutNanos, Threads threads) {
        masterName = topology.masterName();
        this.servers = servers;
        this.sentinels = new Sentinels(topology, sentinels, timeoutNanos, this::found, threads);
    }

    /** Starts to ask the Sentinels, without waiting for a reply. */
    public SentinelRedis start() {
        sentinels.start();
        return this;
    }

    /**
     * Uses the address of a new master. Called by one thread at a time, and no longer once the Sentinels are closed.
     */
    public void found(Address address) {
        SingleServer before = master;
        if (before != null) {
            log(address, before);
            // Clear `master`, so that calls wait: no call may reach the new master before the listener has run.
            moved = true;
            master = null;
            before.close();
        }
        if (moved) {
            onMoved.run();
            moved = false;
        }
        master = servers.at(address);
    }

    private void log(Address address, SingleServer before) {
        Loggers.CONNECTION.warn("The master {} is at {} now, and was at {}", masterName, address, before.address());
    }

    @Override
    public void onMoved(Runnable listener) {
        onMoved = listener;
    }

    @Override
    public void find(String key, long timeoutNanos) {
        awaitMaster(System.nanoTime() + timeoutNanos);
    }

    @Override
    public Reply run(Call call, long timeoutNanos) {
        return send(timeoutNanos, (server, nanos) -> server.run(call, nanos));
    }

    @Override
    public Subscription subscribe(String channel, long timeoutNanos) {
        return send(timeoutNanos, (server, nanos) -> server.subscribe(channel, nanos));
    }

    @Override
    public Subscription watch(String channel, Watcher watcher, long timeoutNanos) {
        return send(timeoutNanos, (server, nanos) -> server.watch(channel, watcher, nanos));
    }

    @Override
    public void publish(String channel, String message, long timeoutNanos) {
        send(timeoutNanos, (server, nanos) -> {
            server.publish(channel, message, nanos);
            return true;
        });
    }

    @Override
    public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
        try {
            List<Outcome> outcomes = send(timeoutNanos, (server, nanos) -> server.runAll(calls, nanos));
            outcomes.forEach(outcome -> note(outcome.failure()));
            return outcomes;
        } catch (RedisException noMaster) {
            return Collections.nCopies(calls.size(), Outcome.of(noMaster));
        }
    }

    @FunctionalInterface
    private interface Request<T> {
        T on(Redis server, long timeoutNanos);
    }

    /**
     * Sends a request to the master. If the master is replaced before the request is sent, the request goes to the new
     * master. Notes whether the master answers: while it does not, the Sentinels are asked more often.
     */
    private <T> T send(long timeoutNanos, Request<T> request) {
        long deadline = System.nanoTime() + timeoutNanos;
        long left = timeoutNanos;
        while (true) {
            SingleServer server = master;
            if (server == null) {
                server = awaitMaster(deadline);
                left = Math.max(1, deadline - System.nanoTime());
            }
            try {
                T answer = request.on(server, left);
                sentinels.troubled(false);
                return answer;
            } catch (RedisException e) {
                left = deadline - System.nanoTime();
                boolean isMoved = e instanceof RedisException.Unanswered lost && !lost.sent() && master != server;
                if (!isMoved || left <= 0) {
                    note(e);
                    throw e;
                }
            }
        }
    }

    private SingleServer awaitMaster(long deadline) {
        sentinels.awaitMaster(deadline);
        SingleServer server = master;
        if (server == null) {
            throw sentinels.troubles();
        }
        return server;
    }

    private void note(@Nullable RedisException failure) {
        if (failure != null && !failure.isPermanent()) {
            sentinels.troubled(true);
        }
    }

    @Override
    public String serverOf(String key) {
        SingleServer server = master;
        return server == null ? "" : server.address();
    }

    @Override
    public int connections() {
        SingleServer server = master;
        return server == null ? 0 : server.connections();
    }

    @Override
    public String address() {
        SingleServer server = master;
        return server == null
                ? "the master " + masterName + ", which Sentinel has not named yet"
                : server.address() + " (by Sentinel the master " + masterName + ")";
    }

    @Override
    public void close() {
        sentinels.close();
        SingleServer server = master;
        if (server != null) {
            server.close();
        }
    }
}
