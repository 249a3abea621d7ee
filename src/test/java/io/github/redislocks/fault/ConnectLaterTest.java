package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.fixture.QuorumServers;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/** A client that is made while its Redis is not there yet. */
@Timeout(60)
@Tag("server")
@Tag("once")
class ConnectLaterTest {

    private static RedisLocks later(String uri) {
        return RedisLocks.builder()
                .uri(uri)
                .connectLater(true)
                .retryFor(Duration.ofSeconds(30))
                .build();
    }

    @Test
    void connectLater_serverThatComesLater_servesWaitersAndIsLogged() throws Exception {
        try (RedisServer server = RedisServer.start()) {
            server.kill();
            String log = Logged.infoBy(Loggers.CONNECTION, () -> {
                try (RedisLocks locks = later(server.uri())) {
                    RedisReentrantLock lock = locks.reentrantLock("job");
                    assertThatThrownBy(lock::tryLock)
                            .isInstanceOf(LockUnavailableException.class)
                            .hasMessageContaining("No connection");
                    CompletableFuture<Void> waiter = OwnThread.run(() -> lock.runWithLock(() -> {}));
                    await().until(() -> locks.countWaitingCalls() == 1);
                    server.restart();
                    assertThat(waiter.orTimeout(20, TimeUnit.SECONDS)).succeedsWithin(Duration.ofSeconds(20));
                    await().until(() -> Logged.soFar().contains("Connected to Redis"));
                }
            });
            assertThat(log)
                    .contains(
                            "Redis cannot be used: No connection to ",
                            "This client goes on without it",
                            "Redis is back")
                    .containsOnlyOnce("Connected to Redis");
        }
    }

    private static RedisLocks quorumLater(QuorumServers masters) {
        return RedisLocks.builder()
                .quorum(masters.uris())
                .restartDelay(Duration.ZERO)
                .connectLater(true)
                .retryFor(Duration.ofSeconds(30))
                .build();
    }

    @Test
    void connectLater_quorumThatComesLater_isLoggedAndGivesNoTokenFromBefore() {
        try (QuorumServers masters = QuorumServers.start(3);
                Jedis clock = masters.get(0).client()) {
            String log = Logged.infoBy(Loggers.CONNECTION, () -> {
                for (int time = 0; time < 3; time++) {
                    long micros = Long.parseLong(clock.time().get(0)) * 1_000_000;
                    clock.disconnect();
                    for (int i = 0; i < masters.size(); i++) {
                        masters.get(i).kill();
                    }
                    try (RedisLocks locks = quorumLater(masters)) {
                        for (int i = 0; i < masters.size(); i++) {
                            masters.get(i).restart();
                        }
                        RedisReentrantLock lock = locks.reentrantLock("job");
                        lock.lock();
                        assertThat(lock.fencingToken()).isGreaterThan(micros);
                        lock.unlock();
                        int connected = time + 1;
                        await().until(() -> Logged.soFar().split("Connected to Redis", -1).length > connected);
                    }
                }
            });
            assertThat(log).doesNotContain("failed for");
        }
    }

    @Test
    void connectLater_serverThatIsThere_isCheckedAtOnce() {
        try (RedisServer server = RedisServer.start()) {
            assertThatThrownBy(() -> later(server.uri().replace("//", "//clerk:wrong@")))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("password");
            try (RedisLocks locks = later(server.uri())) {
                locks.reentrantLock("job").runWithLock(() -> {});
            }
        }
    }

    @Test
    void connectLater_replicaThatBecomesTheMaster_isConnectedTo() {
        try (RedisServer server = RedisServer.start();
                Jedis admin = server.client()) {
            admin.replicaof("127.0.0.1", 1);
            try (RedisLocks locks = later(server.uri())) {
                admin.replicaofNoOne();
                assertThat(locks.reentrantLock("job").tryLock()).isTrue();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"redis://%s", "redis-sentinel://%s/locks", "redis-cluster://%s"})
    void connectLater_nobodyThere_refusesLocksAndCloses(String uri) {
        try (RedisLocks locks = later(uri.formatted("localhost:1"))) {
            assertThatThrownBy(() -> locks.reentrantLock("job").tryLock(Duration.ofMillis(50)))
                    .isInstanceOf(LockUnavailableException.class);
        }
    }
}
