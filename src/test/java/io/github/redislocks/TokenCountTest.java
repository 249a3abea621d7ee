package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Tests the count of the last tokens that Redis remembers, on each topology. */
@Timeout(60)
@Tag("server")
class TokenCountTest {

    private static final int NAMES = 2_500;

    private static void use(RedisLocks locks, int names) {
        for (int i = 0; i < names; i++) {
            locks.reentrantLock("order-" + i).runWithLock(() -> {});
        }
    }

    @Test
    void oneServer_countsTheNamesOfItsPrefixOnly() {
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
            assertThat(locks.countLastTokens()).isZero();
            jedis.set("something:else:fence", "1");
            use(locks, NAMES);
            use(others, 3);
            locks.reentrantLock("order-1").lock();
            assertThat(locks.countLastTokens()).isEqualTo(NAMES);
            assertThat(others.countLastTokens()).isEqualTo(3);
        }
    }

    @Test
    void quorum_countsEachNameOnce_alsoIfAMasterMissedSome() {
        try (RedisServer a = RedisServer.start();
                RedisServer b = RedisServer.start();
                RedisServer c = RedisServer.start();
                RedisLocks locks = RedisLocks.builder()
                        .quorum(a.uri(), b.uri(), c.uri())
                        .restartDelay(Duration.ZERO)
                        .tokenMemory(Duration.ofMinutes(10))
                        .build();
                Jedis jedis = a.client()) {
            use(locks, 20);
            jedis.flushAll();
            assertThat(locks.countLastTokens()).isEqualTo(20);
            b.kill();
            assertThatThrownBy(locks::countLastTokens)
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("Redis at 127.0.0.1:" + b.port());
        }
    }

    @Test
    void cluster_addsWhatItsMastersCount() {
        try (ClusterServers servers = ClusterServers.start();
                RedisLocks locks = RedisLocks.connect(servers.uri())) {
            use(locks, 100);
            assertThat(locks.countLastTokens()).isEqualTo(100);
        }
    }

    @Test
    void closedClient_refuses() {
        try (RedisServer server = RedisServer.start()) {
            RedisLocks locks = RedisLocks.connect(server.uri());
            locks.close();
            assertThatThrownBy(locks::countLastTokens).isInstanceOf(IllegalStateException.class);
        }
    }
}
