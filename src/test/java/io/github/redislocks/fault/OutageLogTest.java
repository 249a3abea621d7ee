package io.github.redislocks.fault;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.JedisServers;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.SentinelServers;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.DefaultRedisCredentials;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.params.ClientKillParams;

/** The lines that an operator reads in the log and in CLIENT LIST on connections and outages. */
@Tag("once")
@Timeout(60)
@Tag("server")
class OutageLogTest {

    private static RedisLocksBuilder impatient(RedisServer server) {
        return RedisLocks.builder()
                .uri(server.uri())
                .commandTimeout(Duration.ofMillis(500))
                .retryFor(Duration.ZERO);
    }

    private static void awaitBack(RedisReentrantLock lock) {
        await().ignoreException(LockUnavailableException.class).until(() -> {
            lock.lock();
            lock.unlock();
            return true;
        });
    }

    private static long count(String log, String text) {
        return log.lines().filter(line -> line.contains(text)).count();
    }

    @Test
    void outage_isToldWhenItBeginsAndWhenItEnds_once() {
        try (RedisServer server = RedisServer.start();
                RedisLocks locks = impatient(server).build()) {
            RedisReentrantLock lock = locks.reentrantLock("job");
            String log = Logged.infoBy(Loggers.CONNECTION, () -> {
                server.kill();
                for (int i = 0; i < 3; i++) {
                    assertThatThrownBy(lock::lock).isInstanceOf(LockUnavailableException.class);
                }
                server.restart();
                awaitBack(lock);
                awaitBack(lock);
                await().until(() -> Logged.soFar().contains("Redis is back"));
            });
            assertThat(log.lines().filter(line -> line.contains("Redis is away")))
                    .hasSize(1)
                    .first()
                    .asString()
                    .contains(
                            "WARN connection - Redis is away", server.address().toString(), "Holds are valid");
            assertThat(log.lines().filter(line -> line.contains("Redis is back")))
                    .hasSize(1)
                    .first()
                    .asString()
                    .contains("INFO connection - Redis is back: " + server.address() + " answers again after ");
        }
    }

    @Test
    void providerOfCredentialsThatThrows_isAnOutage_thatIsRetriedAndToldOnce() {
        AtomicBoolean broken = new AtomicBoolean();
        try (RedisServer server = RedisServer.start();
                FaultyProxy way = FaultyProxy.to(server);
                RedisLocks locks = RedisLocks.builder()
                        .servers(JedisServers.single(
                                way.address(),
                                DefaultJedisClientConfig.builder()
                                        .credentialsProvider(() -> {
                                            if (broken.get()) {
                                                throw new IllegalStateException("STS is away");
                                            }
                                            return new DefaultRedisCredentials("default", "any");
                                        })
                                        .build()))
                        .build()) {
            RedisReentrantLock held = locks.reentrantLock("held");
            RedisReentrantLock lock = locks.reentrantLock("job");
            fixed(held, Duration.ofSeconds(40)).lock();
            String log = Logged.infoBy(Loggers.CONNECTION, () -> {
                broken.set(true);
                way.cut();
                assertThatThrownBy(lock::tryLock)
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("STS is away");
                assertThatThrownBy(() -> lock.tryLock(100, TimeUnit.MILLISECONDS))
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("STS is away");
                CompletableFuture<Boolean> waiting = OwnThread.call(() -> {
                    lock.lock();
                    lock.unlock();
                    return true;
                });
                await().until(() -> locks.waitedForNames().contains("job"));
                assertThat(waiting).isNotDone();
                broken.set(false);
                assertThat(waiting.join()).isTrue();
                held.unlock();
            });
            assertThat(count(log, "Redis is away")).isEqualTo(1);
            assertThat(count(log, "ERROR")).isZero();
        }
    }

    @Test
    void refusals_areToldOnce() {
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client();
                RedisLocks locks = impatient(server).build()) {
            RedisReentrantLock lock = locks.reentrantLock("job");
            String log = Logged.infoBy(Loggers.CONNECTION, () -> {
                jedis.configSet("maxmemory", "1");
                for (int i = 0; i < 5; i++) {
                    assertThatThrownBy(lock::lock).isInstanceOf(LockUnavailableException.class);
                    assertThat(lock.isLocked()).isFalse();
                }
                jedis.configSet("maxmemory", "0");
                awaitBack(lock);
                await().until(() -> Logged.soFar().contains("Redis refuses"));
            });
            assertThat(count(log, "WARN connection - Redis refuses")).isEqualTo(1);
            assertThat(log).contains("OOM", "raise maxmemory");
        }
    }

    @Test
    void masterOfAQuorumThatGoes_isToldWhenItGoesAndWhenItIsBack() {
        try (RedisServer a = RedisServer.start();
                RedisServer b = RedisServer.start();
                RedisServer c = RedisServer.start();
                RedisLocks locks = RedisLocks.builder()
                        .quorum(a.uri(), b.uri(), c.uri())
                        .restartDelay(Duration.ZERO)
                        .build()) {
            RedisReentrantLock lock = locks.reentrantLock("job");
            String log = Logged.infoBy(Loggers.CONNECTION, () -> {
                c.kill();
                awaitLogged(lock, "A master of the quorum is away");
                c.restart();
                awaitLogged(lock, "A master of the quorum is back");
            });
            assertThat(count(log, "WARN connection - A master of the quorum is away: "))
                    .isEqualTo(1);
            assertThat(count(log, "INFO connection - A master of the quorum is back: " + c.address()))
                    .isEqualTo(1);
            assertThat(log).doesNotContain("Redis is away");
        }
    }

    private static void lets(Jedis master, String refuse) {
        switch (refuse) {
            case "OOM" -> master.configSet("maxmemory", "1");
            case "NOPERM" -> master.aclSetUser("default", "-evalsha", "-eval");
            case "READONLY" -> master.replicaof("127.0.0.1", 1);
            default -> {
                master.configSet("requirepass", "secret");
                master.clientKill(ClientKillParams.clientKillParams().type(ClientType.NORMAL));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"NOAUTH", "NOPERM", "OOM", "READONLY"})
    void masterOfAQuorumThatRefusesAll_isToldOnce(String refusal) {
        try (RedisServer a = RedisServer.start();
                RedisServer b = RedisServer.start();
                RedisServer c = RedisServer.start();
                Jedis admin = c.client();
                RedisLocks locks = RedisLocks.builder()
                        .quorum(a.uri(), b.uri(), c.uri())
                        .restartDelay(Duration.ZERO)
                        .build()) {
            RedisReentrantLock lock = locks.reentrantLock("job");
            lock.lock();
            lock.unlock();
            String log = Logged.infoBy(Loggers.CONNECTION, () -> {
                lets(admin, refusal);
                awaitLogged(lock, "A master of the quorum refuses");
                for (int i = 0; i < 5; i++) {
                    lock.lock();
                    lock.unlock();
                }
            });
            assertThat(count(log, "A master of the quorum refuses calls at " + c.address() + ": "))
                    .isEqualTo(1);
            assertThat(log).contains(refusal);
        }
    }

    /** Locks until something has been logged. */
    private static void awaitLogged(RedisReentrantLock lock, String text) {
        await().until(() -> {
            lock.lock();
            lock.unlock();
            return Logged.soFar().contains(text);
        });
    }

    @Test
    void connect_saysToWhatAndAsWhom_andCloseSaysNothing() {
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client()) {
            String[] names = new String[1];
            String log = Logged.infoBy(Loggers.CONNECTION, () -> {
                try (RedisLocks locks = RedisLocks.connect(server.uri())) {
                    RedisReentrantLock lock = locks.reentrantLock("job");
                    lock.lock();
                    names[0] = jedis.hget("redis-locks:{job}", "owner").replaceFirst(":\\d+$", "");
                    lock.unlock();
                    assertThat(jedis.clientList().lines().filter(line -> line.contains(" name=" + names[0] + ' ')))
                            .as("as the owner, but for the thread")
                            .hasSizeGreaterThanOrEqualTo(2);
                }
            });
            assertThat(log.lines())
                    .singleElement()
                    .asString()
                    .contains("INFO connection - Connected to Redis ", " at " + server.address(), names[0]);
            assertThat(names[0]).contains(":" + ProcessHandle.current().pid() + ":");
        }
    }

    @Test
    void connections_ofAUserWhoNamesThem_keepThatName() {
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client();
                RedisLocks locks = RedisLocks.connect(server.uri() + "?clientName=shop")) {
            locks.reentrantLock("job").runWithLock(() -> {});
            assertThat(jedis.clientList()).contains(" name=shop ").doesNotContain(" name=" + localHost());
        }
    }

    private static String localHost() {
        return ManagementFactory.getRuntimeMXBean().getName().replaceFirst(".*@", "");
    }

    @Test
    void connections_thatMayNotBeNamed_work_andThatIsSaidOnce() {
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client()) {
            jedis.aclSetUser("clerk", "on", ">secret", "~*", "&*", "+@all", "-client");
            String log = Logged.infoBy(Loggers.CONNECTION, () -> {
                try (RedisLocks locks = RedisLocks.connect(server.uri().replace("//", "//clerk:secret@"))) {
                    locks.reentrantLock("job").runWithLock(() -> {});
                }
            });
            assertThat(log.lines().filter(line -> line.contains("be named")))
                    .singleElement()
                    .asString()
                    .contains("INFO connection", "NOPERM", "Grant +client|setname");
        }
    }

    @Test
    void namesOfConnections_areGivenBySentinelsAndTheirMaster() {
        try (SentinelServers servers = SentinelServers.start();
                RedisLocks locks = RedisLocks.connect(servers.uri());
                Jedis sentinel = servers.sentinels().get(0).client()) {
            locks.reentrantLock("job").runWithLock(() -> {});
            String here = " name=" + localHost() + ":" + ProcessHandle.current().pid() + ":";
            try (Jedis master = servers.master().client()) {
                assertThat(master.clientList()).contains(here);
            }
            assertThat(sentinel.clientList()).contains(here);
        }
    }

    @Test
    void forceUnlock_saysWhoForcedWhat() {
        try (RedisServer server = RedisServer.start();
                RedisLocks here = RedisLocks.connect(server.uri());
                RedisLocks there = RedisLocks.connect(server.uri())) {
            RedisReentrantLock lock = here.reentrantLock("job");
            lock.lock();
            long token = lock.fencingToken();
            String log = Logged.infoBy(
                    Loggers.FORCED, () -> there.reentrantLock("job").forceUnlock());
            assertThat(log)
                    .contains("INFO forced - The lock \"job\" was forced open by thread ")
                    .contains(Thread.currentThread().getName(), Long.toString(token))
                    .contains(":" + ProcessHandle.current().pid() + ":");
        }
    }

    @Test
    void connectWithin_waitsForAServerThatComesLater() throws Exception {
        try (RedisServer server = RedisServer.start()) {
            server.kill();
            CompletableFuture<RedisLocks> locks = new CompletableFuture<>();
            String log = Logged.infoBy(Loggers.CONNECTION, () -> {
                Thread starter = new Thread(() -> locks.complete(RedisLocks.builder()
                        .uri(server.uri())
                        .connectWithin(Duration.ofSeconds(50))
                        .build()));
                starter.start();
                await().until(() -> Logged.soFar().contains("This client waits for it"));
                server.restart();
                assertThat(locks.orTimeout(20, TimeUnit.SECONDS).join()).isNotNull();
            });
            assertThat(count(log, "This client waits for it, for 50 s at most")).isEqualTo(1);
            assertThat(log).contains("No connection to ", server.address().toString(), "Connected to Redis");
            locks.get().reentrantLock("job").runWithLock(() -> {});
            locks.get().close();
        }
    }

    @Test
    void connectWithin_waitsForAReplicaThatBecomesTheMaster() throws Exception {
        try (RedisServer server = RedisServer.start();
                Jedis admin = server.client()) {
            admin.replicaof("127.0.0.1", 1);
            CompletableFuture<RedisLocks> locks = new CompletableFuture<>();
            String log = Logged.infoBy(Loggers.CONNECTION, () -> {
                Thread starter = new Thread(() -> locks.complete(RedisLocks.builder()
                        .uri(server.uri())
                        .connectWithin(Duration.ofSeconds(50))
                        .build()));
                starter.start();
                await().until(() -> Logged.soFar().contains("This client waits for it"));
                admin.replicaofNoOne();
                assertThat(locks.orTimeout(20, TimeUnit.SECONDS).join()).isNotNull();
            });
            assertThat(log).contains("is a replica of 127.0.0.1:1");
            locks.get().close();
        }
    }

    @Test
    void connectWithin_doesNotWaitForWhatNobodyMends_norForEver() {
        try (RedisServer server = RedisServer.start()) {
            RedisLocksBuilder builder = RedisLocks.builder()
                    .uri(server.uri().replace("//", "//clerk:wrong@"))
                    .connectWithin(Duration.ofHours(1));
            assertThatThrownBy(builder::build)
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("password");
            server.kill();
            assertThatThrownBy(() -> RedisLocks.builder()
                            .uri(server.uri())
                            .connectWithin(Duration.ofMillis(100))
                            .build())
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("No connection");
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> RedisLocks.builder()
                            .uri(server.uri())
                            .connectWithin(Duration.ofHours(1))
                            .build())
                    .isInstanceOf(LockUnavailableException.class);
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    private static void failsAtOnce(String uri, String... parts) {
        RedisLocksBuilder builder = RedisLocks.builder().uri(uri).connectWithin(Duration.ofHours(1));
        assertThatThrownBy(builder::build)
                .isInstanceOf(LockUnavailableException.class)
                .satisfies(e -> assertThat(e.getMessage()).contains(parts));
    }

    @Test
    void connectWithin_doesNotWaitWhereAllSentinelsOrNodesRefuse() {
        ClusterServers cluster = ClusterServers.shared();
        failsAtOnce(
                cluster.uri().replace("//", "//clerk:wrong@"), "No node of the cluster", "WRONGPASS", "the password");
        SentinelServers sentinels = SentinelServers.shared();
        failsAtOnce(
                sentinels.uri().replace("/" + SentinelServers.MASTER, "/other"),
                "knows no such master",
                "compare the name",
                "Check the addresses of the Sentinels, and the master's name");
        String server = sentinels.master().address().toString();
        failsAtOnce("redis-cluster://" + server, "is no node of a cluster", "write redis://" + server);
        failsAtOnce("redis-sentinel://" + server + "/locks", "is no Sentinel", "write redis://" + server);
    }

    @Test
    void connectWithin_ofAWrongTime_isRefused() {
        for (Duration wrong : List.of(Duration.ofMillis(-1), Duration.ofDays(2))) {
            assertThatThrownBy(() -> RedisLocks.builder().connectWithin(wrong))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("connectWithin is " + Shown.of(wrong))
                    .hasMessageContaining("between 0 and 24 h")
                    .hasMessageContaining("Duration.ZERO");
        }
    }
}
