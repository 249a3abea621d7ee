package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.QuorumServers;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.testkit.InMemoryLocks;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Lists of the locks that are in use, on each topology. */
@Timeout(60)
@Tag("server")
class LockListTest {

    private static List<String> names(RedisLocks locks, String pattern) {
        return locks.list(pattern).map(LockSummary::lockName).toList();
    }

    private static void hold(RedisLocks locks, int names) {
        for (int i = 0; i < names; i++) {
            locks.reentrantLock("order:" + i).lock();
        }
    }

    private static String[] orders(int names) {
        return IntStream.range(0, names).mapToObj(i -> "order:" + i).toArray(String[]::new);
    }

    @Test
    void oneServer_listsEachLockOnce_ofItsPrefixOnly() {
        try (RedisServer server = RedisServer.start();
                RedisLocks locks = RedisLocks.builder()
                        .uri(server.uri())
                        .keyPrefix("a*[b]?\\")
                        .build();
                RedisLocks others = RedisLocks.builder()
                        .uri(server.uri())
                        .keyPrefix("axxbx\\")
                        .build();
                Jedis jedis = server.client()) {
            assertThat(locks.list("*")).isEmpty();
            jedis.set("something:{else}", "1");
            hold(locks, 1_500);
            hold(others, 2);
            locks.reentrantLock("free").runWithLock(() -> {});
            assertThat(names(locks, "*")).containsExactlyInAnyOrder(orders(1_500));
            assertThat(names(locks, "order:7?")).hasSize(10).contains("order:70", "order:79");
            assertThat(names(locks, "order:[12]")).containsExactlyInAnyOrder("order:1", "order:2");
            assertThat(names(others, "*")).containsExactlyInAnyOrder(orders(2));
        }
    }

    @Test
    void summary_saysWhoHoldsItSinceWhen() {
        try (RedisServer server = RedisServer.start();
                RedisLocks locks = RedisLocks.connect(server.uri())) {
            Instant before = Instant.now();
            FencedLock lock = locks.reentrantLock("{odd} name: 100%");
            lock.lock();
            lock.lock();
            Instant after = Instant.now();
            List<LockSummary> all = locks.list("{odd}*%").toList();
            assertThat(all).hasSize(1);
            LockInspection.Holder holder = all.get(0).holder().orElseThrow();
            assertThat(all.get(0).lockName()).isEqualTo("{odd} name: 100%");
            assertThat(holder.owner().clientId()).isEqualTo(locks.clientId());
            assertThat(holder.holds()).isEqualTo(2);
            assertThat(holder.token()).isEqualTo(lock.fencingToken());
            // Server and client share a clock here, and the server reads it once for each command.
            assertThat(holder.since()).isBetween(before.minusMillis(100), after.plusMillis(100));
            assertThat(holder.remainingLease()).isBetween(Duration.ofSeconds(1), Duration.ofSeconds(30));
            assertThat(all.get(0))
                    .hasToString("Lock \"{odd} name: 100%\" held by " + holder)
                    .isEqualTo(LockSummary.of(
                            "{odd} name: 100%", all.get(0).holder(), all.get(0).keptFor(), 0, 0));
        }
    }

    @Test
    void cluster_listsTheLocksOfAllMasters() {
        try (ClusterServers servers = ClusterServers.start();
                RedisLocks locks = RedisLocks.connect(servers.uri())) {
            hold(locks, 30);
            assertThat(names(locks, "*")).containsExactlyInAnyOrder(orders(30));
        }
    }

    @Test
    void cluster_whileASlotIsMoved_listsTheLocksOfTheOthers() {
        try (ClusterServers servers = ClusterServers.start();
                RedisLocks locks = RedisLocks.connect(servers.uri())) {
            hold(locks, 30);
            String moved = "redis-locks:{order:3}";
            int slot = ClusterServers.slot(moved);
            RedisServer from = servers.masterOf(moved);
            RedisServer to = servers.masters().stream()
                    .filter(master -> master.port() != from.port())
                    .findFirst()
                    .orElseThrow();
            servers.beginMigration(slot, from, to);
            servers.moveKeys(slot, from, to, 1);
            String[] others = Stream.of(orders(30))
                    .filter(name -> ClusterServers.slot("redis-locks:{" + name + "}") != slot)
                    .toArray(String[]::new);
            assertThat(names(locks, "*")).contains(others);
        }
    }

    @Test
    void quorum_listsWhatMostMastersGive_alsoIfOneMissedSome() {
        try (QuorumServers masters = QuorumServers.start(3);
                RedisLocks locks = RedisLocks.builder()
                        .quorum(masters.uris())
                        .restartDelay(Duration.ZERO)
                        .tokenMemory(Duration.ofMinutes(10))
                        .build();
                Jedis jedis = masters.get(0).client()) {
            hold(locks, 5);
            jedis.flushAll();
            assertThat(names(locks, "*")).containsExactlyInAnyOrder(orders(5));
            assertThat(locks.list("order:3").toList().get(0).holder()).isPresent();
            // A vote of one master alone is no hold.
            jedis.hset(
                    "redis-locks:quorum:{stale}",
                    Map.of("owner", "h:1:c:1", "attempt", "1", "holds", "1", "token", "5"));
            assertThat(names(locks, "*")).containsExactlyInAnyOrder(orders(5));
            masters.get(1).kill();
            assertThatThrownBy(() -> names(locks, "*"))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("The locks were not listed: Redis at 127.0.0.1:"
                            + masters.get(1).port());
        }
    }

    @Test
    void patternThatCannotMatch_isRefusedAtOnce() {
        try (InMemoryLocks memory = InMemoryLocks.start()) {
            RedisLocks locks = memory.client();
            assertThatThrownBy(() -> locks.list(""))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("\"*\" for all locks");
            assertThatThrownBy(() -> locks.list("\ud800"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("surrogate");
            assertThatThrownBy(() -> locks.list(null)).isInstanceOf(NullPointerException.class);
        }
    }
}
