package io.github.redislocks.failover;

import static org.awaitility.Awaitility.await;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.QuorumServers;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.SentinelServers;
import io.github.redislocks.fixture.ServerProcess;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import redis.clients.jedis.Jedis;

/** The topologies. */
final class Scenes {

    private static final Duration PATIENCE = Duration.ofSeconds(40);

    private Scenes() {}

    static Scene start(String topology) {
        return switch (topology) {
            case "server" -> new OneServer();
            case "sentinels" -> new Sentinels();
            case "cluster" -> new Cluster();
            case "quorum" -> new Quorum();
            default -> throw new IllegalArgumentException(topology);
        };
    }

    /** Lets time pass: the scene waits for nothing but time. */
    private static void pass(Duration time) {
        long until = System.nanoTime() + time.toNanos();
        await().atMost(PATIENCE).pollInterval(Duration.ofMillis(20)).until(() -> System.nanoTime() > until);
    }

    private abstract static class Base implements Scene {

        private final String name = "fought-for-" + UUID.randomUUID();

        @Override
        public String name() {
            return name;
        }

        @Override
        public String anotherName() {
            return "held-" + UUID.randomUUID();
        }

        @Override
        public String toString() {
            return getClass().getSimpleName();
        }
    }

    private static final class OneServer extends Base {

        private final RedisServer server = RedisServer.start("--appendonly", "yes", "--appendfsync", "always");

        @Override
        public RedisLocksBuilder clients() {
            return RedisLocks.builder().uri(server.uri());
        }

        @Override
        public List<Harm> harms() {
            return List.of(
                    new Harm("killed, and started with its data after 1 s", true, () -> restart(false)),
                    new Harm("killed, and started without data after 1 s", false, () -> restart(true)),
                    new Harm("frozen for 2 s", true, () -> {
                        server.pause();
                        pass(Duration.ofSeconds(2));
                        server.resume();
                        return true;
                    }));
        }

        private boolean restart(boolean empty) {
            if (empty) {
                try (Jedis jedis = server.client()) {
                    jedis.flushAll();
                }
            }
            server.kill();
            pass(Duration.ofSeconds(1));
            server.restart();
            return true;
        }

        @Override
        public void awaitStable() {}

        @Override
        public void close() {
            server.close();
        }
    }

    private static final class Sentinels extends Base {

        private final SentinelServers servers = SentinelServers.start();

        @Override
        public RedisLocksBuilder clients() {
            return RedisLocks.builder().uri(servers.uri());
        }

        @Override
        public List<Harm> harms() {
            return List.of(
                    new Harm("master killed, back as a replica", false, () -> {
                        RedisServer old = servers.master();
                        old.kill();
                        servers.awaitPromotion(old);
                        old.restart();
                        return true;
                    }),
                    new Harm("master frozen until it is replaced", false, () -> {
                        RedisServer old = servers.master();
                        old.pause();
                        servers.awaitPromotion(old);
                        old.resume();
                        return true;
                    }));
        }

        @Override
        public void awaitStable() {
            await().atMost(PATIENCE)
                    .ignoreExceptions()
                    .during(Duration.ofMillis(1_500))
                    .until(() -> {
                        try (Jedis jedis = servers.master().client()) {
                            String info = jedis.info("replication");
                            return info.contains("role:master")
                                    && info.contains("connected_slaves:2")
                                    && info.lines()
                                                    .filter(line -> line.contains("state=online"))
                                                    .count()
                                            == 2;
                        }
                    });
        }

        @Override
        public void close() {
            servers.close();
        }
    }

    private static final class Cluster extends Base {

        private final ClusterServers servers = ClusterServers.start();
        private final String key = "redis-locks:{" + name() + "}";

        @Override
        public RedisLocksBuilder clients() {
            return RedisLocks.builder().uri(servers.uri());
        }

        @Override
        public String anotherName() {
            return servers.nameOn(master(), UUID.randomUUID() + "-");
        }

        private RedisServer master() {
            return servers.masterOf(key);
        }

        @Override
        public List<Harm> harms() {
            return List.of(
                    new Harm("master killed, back as a replica", false, () -> {
                        RedisServer old = master();
                        RedisServer replica = servers.replicaOf(old);
                        old.kill();
                        servers.awaitPromoted(replica);
                        old.restart();
                        return true;
                    }),
                    new Harm("master frozen until it is replaced", false, () -> {
                        RedisServer old = master();
                        RedisServer replica = servers.replicaOf(old);
                        old.pause();
                        servers.awaitPromoted(replica);
                        old.resume();
                        return true;
                    }),
                    new Harm("failover by hand", true, () -> {
                        servers.failover(servers.replicaOf(master()));
                        return true;
                    }),
                    new Harm("slot moved to another master", true, () -> {
                        RedisServer from = master();
                        RedisServer to = servers.masters().stream()
                                .filter(server -> server != from)
                                .findFirst()
                                .orElseThrow();
                        servers.migrate(ClusterServers.slot(key), from, to);
                        return true;
                    }));
        }

        @Override
        public void awaitStable() {
            servers.awaitStable();
        }

        @Override
        public void close() {
            servers.close();
        }
    }

    private static final class Quorum extends Base {

        private final QuorumServers servers = QuorumServers.start(5);
        private final List<FaultyProxy> proxies = IntStream.range(0, servers.size())
                .mapToObj(i -> FaultyProxy.to(servers.get(i)))
                .toList();
        private int turn;

        @Override
        public RedisLocksBuilder clients() {
            return RedisLocks.builder()
                    .quorum(proxies.stream().map(FaultyProxy::uri).toArray(String[]::new));
        }

        /** Some of the five servers, others each time. */
        private List<RedisServer> some(int count) {
            return numbers(count).mapToObj(servers::get).toList();
        }

        private IntStream numbers(int count) {
            int first = turn++;
            return IntStream.range(first, first + count).map(i -> i % servers.size());
        }

        @Override
        public List<Harm> harms() {
            return List.of(
                    new Harm("two of five killed, started without data after 1 s", true, () -> restart(2)),
                    new Harm("two of five frozen for 2 s", true, () -> freeze(2)),
                    new Harm("three of five frozen for 2 s", true, () -> freeze(3)),
                    new Harm("two of five receive, and cannot reply, for 2 s", true, () -> {
                        List<FaultyProxy> deaf =
                                numbers(2).mapToObj(proxies::get).toList();
                        deaf.forEach(FaultyProxy::dropReplies);
                        pass(Duration.ofSeconds(2));
                        deaf.forEach(FaultyProxy::pass);
                        return true;
                    }),
                    new Harm("three of five killed, started without data after 1 s", false, () -> restart(3)),
                    new Harm("all restarted without data, one after the other", true, () -> {
                        for (int i = 0; i < servers.size(); i++) {
                            servers.get(i).restart();
                            awaitStable();
                        }
                        return true;
                    }));
        }

        private boolean restart(int count) {
            List<RedisServer> some = some(count);
            some.forEach(ServerProcess::kill);
            pass(Duration.ofSeconds(1));
            some.forEach(ServerProcess::restart);
            return true;
        }

        private boolean freeze(int count) {
            List<RedisServer> some = some(count);
            some.forEach(ServerProcess::pause);
            pass(Duration.ofSeconds(2));
            some.forEach(ServerProcess::resume);
            return true;
        }

        /**
         * Waits until all servers have run for a lease, after which they vote, and for a renewal more, which gives all
         * holds their votes.
         */
        @Override
        public void awaitStable() {
            Duration time = Fight.LEASE.plus(Fight.LEASE.dividedBy(2));
            await().atMost(PATIENCE).ignoreExceptions().until(() -> {
                for (int i = 0; i < servers.size(); i++) {
                    try (Jedis jedis = servers.get(i).client()) {
                        String uptime = jedis.info("server").replaceAll("(?s).*uptime_in_seconds:(\\d+).*", "$1");
                        if (Long.parseLong(uptime) <= time.toSeconds()) {
                            return false;
                        }
                    }
                }
                return true;
            });
        }

        @Override
        public void close() {
            proxies.forEach(FaultyProxy::close);
            servers.close();
        }
    }
}
