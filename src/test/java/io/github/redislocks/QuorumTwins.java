package io.github.redislocks;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.quorum.Quorum;
import io.github.redislocks.redis.Call;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;

/** Five masters in memory, which have run for an hour, and clients of all of them. */
final class QuorumTwins implements AutoCloseable {

    static final String KEY = "redis-locks:quorum:{job}";
    static final int NODES = 5;

    private static final long HOUR_MILLIS = 3_600_000;
    /** A lease that allows requests so much time that a stall of the machine makes none fail. */
    private static final Duration LONG = Duration.ofMinutes(5);

    final List<InMemoryRedis> servers = new ArrayList<>();
    final List<LockLost> losses = new CopyOnWriteArrayList<>();
    private final Duration lease;
    private final Duration restartDelay;
    private final List<RedisLocks> clients = new ArrayList<>();

    QuorumTwins(Duration lease, Duration restartDelay) {
        this.lease = lease;
        this.restartDelay = restartDelay;
        for (int i = 0; i < NODES; i++) {
            InMemoryRedis server = new InMemoryRedis();
            server.restart();
            server.stepMillis(HOUR_MILLIS);
            servers.add(server);
        }
    }

    /** A client, with its connections to the masters. */
    final class Client {

        final List<InMemoryRedis> nodes = new ArrayList<>();
        final RedisLocks locks;
        final RedisReentrantLock lock;

        private Client(Clock clock, Duration retryFor) {
            servers.forEach(server -> nodes.add(server.another()));
            Settings settings = Settings.DEFAULTS
                    .withKeyPrefix("redis-locks:quorum")
                    .withLease(lease)
                    .withCommandTimeout(lease.compareTo(LONG) < 0 ? Duration.ofSeconds(1) : Duration.ofSeconds(10))
                    .withRetryFor(retryFor);
            locks = RedisLocks.on(
                    new Quorum(nodes, settings, restartDelay.toMillis()),
                    settings,
                    LossListener.to(losses::add),
                    clock);
            lock = locks.reentrantLock("job");
            clients.add(locks);
        }

        /** Cuts the client off from all masters but these. */
        void reachOnly(String reachable) {
            for (int i = 0; i < NODES; i++) {
                nodes.get(i).down(reachable.indexOf('A' + i) < 0);
            }
        }

        /** The number of runs of a script, over all masters. */
        int runs(String script) {
            return nodes.stream().mapToInt(node -> node.log().count(script)).sum();
        }
    }

    Client connect() {
        return connect(Clock.SYSTEM);
    }

    /**
     * A client that renews and sends heartbeats by this clock. The masters and the questions to them have clocks of
     * their own.
     */
    Client connect(Clock clock) {
        return connect(clock, Duration.ofSeconds(10));
    }

    Client connect(Clock clock, Duration retryFor) {
        return new Client(clock, retryFor);
    }

    InMemoryRedis server(char name) {
        return servers.get(name - 'A');
    }

    /** The masters with these letters. */
    List<InMemoryRedis> servers(String names) {
        return names.chars().mapToObj(name -> server((char) name)).toList();
    }

    /** The letters of the masters that have a vote of an owner. */
    String votes() {
        StringBuilder names = new StringBuilder();
        for (int i = 0; i < NODES; i++) {
            if (!servers.get(i).hash(KEY).isEmpty()) {
                names.append((char) ('A' + i));
            }
        }
        return names.toString();
    }

    static Predicate<Call> script(String name) {
        return call -> call.script().name().equals(name);
    }

    @Override
    public void close() {
        clients.forEach(RedisLocks::close);
        servers.forEach(InMemoryRedis::close);
    }
}
