package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.RedisServer;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/**
 * The cost of locks that a client keeps and nobody uses: one renewal in each heartbeat, 32 to a request on one server.
 * Prints the figures of docs/residency.md: {@code mvn test -Dtest=KeptLocksCostTest -Dkept.locks=10000}.
 */
@Tag("server")
class KeptLocksCostTest {

    private static final int NAMES = Integer.getInteger("kept.locks", 640);
    private static final double HEARTBEATS_A_SECOND = 1 / 1.5;
    private static final Pattern SCRIPTS = Pattern.compile("cmdstat_evalsha:calls=(\\d+)");

    private static long scripts(List<RedisServer> servers) {
        long calls = 0;
        for (RedisServer server : servers) {
            try (Jedis jedis = new Jedis(URI.create(server.uri()))) {
                Matcher found = SCRIPTS.matcher(jedis.info("commandstats"));
                calls += found.find() ? Long.parseLong(found.group(1)) : 0;
            }
        }
        return calls;
    }

    /** The scripts a second that the servers run while a client keeps its locks. */
    private static double scriptsPerSecond(String uri, List<RedisServer> servers) {
        try (RedisLocks locks =
                RedisLocks.builder().uri(uri).residency(Duration.ofMinutes(5)).build()) {
            for (int i = 0; i < NAMES; i++) {
                RedisReentrantLock lock = locks.reentrantLock("kept" + i);
                lock.lock();
                lock.unlock();
            }
            long began = System.nanoTime();
            long before = scripts(servers);
            await().atMost(Duration.ofSeconds(30)).until(() -> System.nanoTime() - began > 9_000_000_000L);
            double perSecond = (scripts(servers) - before) * 1e9 / (System.nanoTime() - began);
            assumeThat(locks.countResident()).as("a busy machine hears late").isEqualTo(NAMES);
            System.out.printf("%d kept at %s: %.0f scripts a second%n", NAMES, uri, perSecond);
            return perSecond;
        }
    }

    @Test
    void keptLocks_onOneServer_areRenewed32ToARequest() {
        try (RedisServer server = RedisServer.start()) {
            double most = HEARTBEATS_A_SECOND * NAMES / 32;
            assertThat(scriptsPerSecond(server.uri(), List.of(server))).isLessThan(1.5 * most + 5);
        }
    }

    @Test
    void keptLocks_inACluster_areRenewedOneByOne() {
        try (ClusterServers cluster = ClusterServers.start()) {
            double most = HEARTBEATS_A_SECOND * NAMES;
            assertThat(scriptsPerSecond(cluster.uri(), cluster.masters())).isLessThan(1.2 * most + 5);
        }
    }
}
