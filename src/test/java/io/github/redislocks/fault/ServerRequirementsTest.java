package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/** Tests what a client reports about its server when it connects. */
@Tag("once")
@Timeout(60)
@Tag("server")
class ServerRequirementsTest {

    private static final List<String> RIGHTS = List.of(
            ("time exists del pexpire pttl get set append hget hmget hset hdel hincrby zadd zrem zscore zrange zrangebylex zcard"
                            + " evalsha eval")
                    .split(" "));

    private static String uri(RedisServer server, String user) {
        return server.uri().replace("//", "//" + user + ":secret@");
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void connect_toAPlainServer_saysNothingAndLeavesNothing(RedisServer.Version version) {
        try (RedisServer server = RedisServer.start(version);
                Jedis jedis = server.client()) {
            assertThat(Logged.by(() -> RedisLocks.connect(server.uri()).close()))
                    .isEmpty();
            assertThat(jedis.keys("*")).isEmpty();
        }
    }

    @Test
    void connect_whereLocksMayBeEvicted_warns() {
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client()) {
            jedis.configSet("maxmemory-policy", "volatile-lru");
            assertThat(Logged.by(() -> RedisLocks.connect(server.uri()).close()))
                    .contains("WARN", "maxmemory-policy volatile-lru", "Set maxmemory-policy noeviction");
        }
    }

    @Test
    void connect_toAFullServer_works() {
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client()) {
            jedis.configSet("maxmemory", "1");
            RedisLocks.connect(server.uri()).close();
            assertThat(jedis.keys("*")).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void connect_whereWritesAreRefusedForNow_blamesNoRight_andLocksWaitForIt(RedisServer.Version version)
            throws InterruptedException {
        try (RedisServer server = RedisServer.start(version);
                Jedis jedis = server.client()) {
            jedis.configSet("min-replicas-to-write", "1");
            try (RedisLocks locks = RedisLocks.connect(server.uri())) {
                Thread caller = new Thread(() -> {
                    RedisReentrantLock lock = locks.reentrantLock("job");
                    lock.lock();
                    lock.unlock();
                });
                caller.start();
                // More than one try: the first has been refused, and the caller goes on.
                await().until(() -> scripts(jedis) > 4 || !caller.isAlive());
                assertThat(caller.isAlive()).isTrue();
                jedis.configSet("min-replicas-to-write", "0");
                caller.join();
                assertThat(jedis.get("redis-locks:{job}:fence")).endsWith("+");
            }
        }
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void connect_whereTheServerCannotSave_blamesNoRight(RedisServer.Version version) {
        try (RedisServer server = RedisServer.start(version);
                Jedis jedis = server.client()) {
            jedis.configSet("save", "3600 1");
            jedis.configSet("rdb-key-save-delay", "1000000");
            jedis.set("some", "data");
            jedis.bgsave();
            ProcessHandle process = ProcessHandle.of(processId(jedis)).orElseThrow();
            await().until(() -> process.children().anyMatch(ProcessHandle::destroyForcibly));
            await().until(() -> jedis.info("persistence").contains("rdb_last_bgsave_status:err"));
            RedisLocks.connect(server.uri()).close();
            jedis.configSet("save", "");
        }
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void connect_toAReplicaThatTellsNothing_isRefused(RedisServer.Version version) {
        try (RedisServer master = RedisServer.start(version);
                RedisServer server = RedisServer.start(version);
                Jedis jedis = server.client()) {
            jedis.aclSetUser("clerk", "on", ">secret", "~*", "&*", "+@all", "-info");
            jedis.replicaof("127.0.0.1", master.port());
            assertThatThrownBy(() -> RedisLocks.connect(uri(server, "clerk")))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasFieldOrPropertyWithValue("reason", LockUnavailableException.Reason.UNSUITABLE)
                    .hasMessageContaining("is a replica");
        }
    }

    private static long processId(Jedis jedis) {
        return jedis.info("server")
                .lines()
                .filter(line -> line.startsWith("process_id:"))
                .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1)))
                .findFirst()
                .orElseThrow();
    }

    /** How many scripts have been run since the server started. */
    private static long scripts(Jedis jedis) {
        return jedis.info("commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_eval"))
                .mapToLong(line -> Long.parseLong(line.replaceAll(".*calls=(\\d+).*", "$1")))
                .sum();
    }

    @ParameterizedTest
    @ValueSource(strings = {"+info", "-info"})
    void connect_toAReplica_isRefused(String info) {
        try (RedisServer server = RedisServer.start();
                RedisServer master = RedisServer.start();
                Jedis jedis = server.client()) {
            jedis.aclSetUser("clerk", "on", ">secret", "~*", "&*", "+@all", info);
            jedis.replicaof("127.0.0.1", master.port());
            await().until(() -> jedis.info("replication").contains("master_link_status:up"));
            assertThatThrownBy(() -> RedisLocks.connect(uri(server, "clerk")))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("is a replica")
                    .hasMessageContaining(info.equals("+info") ? "of 127.0.0.1:" + master.port() : "master");
        }
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void connect_withoutARight_isRefusedByItsName(RedisServer.Version version) {
        try (RedisServer server = RedisServer.start(version);
                Jedis jedis = server.client()) {
            for (String command : RIGHTS) {
                jedis.aclSetUser("clerk-" + command, "on", ">secret", "~*", "&*", "+@all", "-" + command);
                jedis.scriptFlush();
                assertThatThrownBy(() -> RedisLocks.connect(uri(server, "clerk-" + command)))
                        .isInstanceOf(LockUnavailableException.class)
                        .satisfies(e -> assertThat(e.getMessage().toLowerCase(Locale.ROOT))
                                .containsAnyOf("run " + command, "'" + command + "'", command + " "));
                // Without DEL what was tried goes with its expiry.
                await().until(() -> jedis.keys("*").isEmpty());
            }
        }
    }

    /** Not by the last one, the message, without which locks would work. */
    @Test
    void connect_withoutTwoRights_isRefusedByTheFirst() {
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client()) {
            jedis.aclSetUser("clerk", "on", ">secret", "~*", "resetchannels", "+@all", "-hdel");
            assertThatThrownBy(() -> RedisLocks.connect(uri(server, "clerk")))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("HDEL");
        }
    }

    @Test
    void connect_withoutTheKeys_isRefused() {
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client()) {
            jedis.aclSetUser("clerk", "on", ">secret", "~orders:*", "&*", "+@all");
            assertThatThrownBy(() -> RedisLocks.connect(uri(server, "clerk")))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("key");
        }
    }

    @Test
    void connect_whereTheUserMayNotPublish_warns() {
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client()) {
            jedis.aclSetUser("clerk", "on", ">secret", "~*", "resetchannels", "+@all");
            assertThat(Logged.by(() -> RedisLocks.connect(uri(server, "clerk")).close()))
                    .contains("WARN", "does not let this user publish", "docs/redis.md");
        }
    }

    @Test
    void quorum_whereTheUserMayNotSubscribe_warnsOfEachMaster() {
        try (RedisServer a = RedisServer.start();
                RedisServer b = RedisServer.start();
                RedisServer c = RedisServer.start()) {
            for (RedisServer server : List.of(a, b, c)) {
                try (Jedis jedis = server.client()) {
                    jedis.aclSetUser("clerk", "on", ">secret", "~*", "&*", "+@all", "-subscribe");
                }
            }
            String said = Logged.by(() -> RedisLocks.builder()
                    .quorum(uri(a, "clerk"), uri(b, "clerk"), uri(c, "clerk"))
                    .restartDelay(Duration.ZERO)
                    .build()
                    .close());
            assertThat(said.lines()
                            .filter(line -> line.contains("does not let this user subscribe"))
                            .count())
                    .isGreaterThanOrEqualTo(2);
        }
    }

    @Test
    void connect_whereTheUserMayNotSubscribe_warns_andTheFirstContentionSaysSo() throws InterruptedException {
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client()) {
            jedis.aclSetUser("clerk", "on", ">secret", "~*", "&*", "+@all", "-subscribe");
            assertThat(Logged.by(() -> RedisLocks.connect(uri(server, "clerk")).close()))
                    .contains(
                            "WARN",
                            "does not let this user subscribe to redis-locks:mailbox:",
                            "+subscribe",
                            "docs/redis.md");
            try (RedisLocks clerk = RedisLocks.connect(uri(server, "clerk"));
                    RedisLocks other = RedisLocks.connect(server.uri())) {
                other.reentrantLock("job").lock();
                RedisReentrantLock lock = clerk.reentrantLock("job");
                assertThat(lock.tryLock()).isFalse();
                assertThatThrownBy(() -> lock.tryLock(5, TimeUnit.SECONDS))
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("subscribe");
            }
        }
    }
}
