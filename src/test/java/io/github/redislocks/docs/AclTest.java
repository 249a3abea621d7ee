package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.Permits;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.RedisReentrantReadWriteLock;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;

/** The README's ACL rule on real servers: a client that has no other right does all it has to, and uses every right. */
@Tag("once")
@Timeout(60)
@Tag("server")
class AclTest {

    /** The commands that every user may call, and those that the library's connection uses but can do without. */
    private static final Set<String> NEEDS_NO_RIGHT = Set.of("hello", "auth", "client", "client|setname", "ping");

    private static final String USER_URI = "redis://locks:a-long-password@127.0.0.1:";

    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void stop() {
        threads.shutdownNow();
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void rule_ofTheReadme_isEnoughAndNoMore(RedisServer.Version version) throws Exception {
        List<String> rule = rule();
        try (RedisServer server = RedisServer.start(version);
                Jedis admin = server.client()) {
            admin.sendCommand(Command.ACL, rule.subList(1, rule.size()).toArray(String[]::new));
            admin.configResetStat();

            useEverything(USER_URI + server.port(), admin);

            Set<String> granted = rule.stream()
                    .filter(word -> word.startsWith("+"))
                    .map(word -> word.substring(1))
                    .collect(Collectors.toCollection(TreeSet::new));
            assertThat(called(admin)).isEqualTo(granted);
            assertThat(admin.aclLog())
                    .extracting(entry -> entry.getObject().toLowerCase(Locale.ROOT))
                    .isSubsetOf(NEEDS_NO_RIGHT);
        }
    }

    @Test
    void countOfLastTokens_needsScanBesides() throws IOException {
        List<String> rule = rule();
        try (RedisServer server = RedisServer.start();
                Jedis admin = server.client()) {
            admin.sendCommand(Command.ACL, rule.subList(1, rule.size()).toArray(String[]::new));
            try (RedisLocks locks = RedisLocks.connect(USER_URI + server.port())) {
                locks.reentrantLock("acl").runWithLock(() -> {});
                assertThatThrownBy(locks::countLastTokens)
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("were not counted: Redis at 127.0.0.1:" + server.port() + " refused it")
                        .hasMessageContaining("+scan")
                        .hasMessageContaining("docs/redis.md");

                admin.sendCommand(Command.ACL, "SETUSER", "locks", "+scan");
                assertThat(locks.countLastTokens()).isEqualTo(1);
            }
        }
    }

    @Test
    void readWriteLocksAndPermits_needHgetallBesides() throws Exception {
        List<String> rule = rule();
        try (RedisServer server = RedisServer.start();
                Jedis admin = server.client()) {
            admin.sendCommand(Command.ACL, rule.subList(1, rule.size()).toArray(String[]::new));
            try (RedisLocks locks = RedisLocks.connect(USER_URI + server.port())) {
                RedisReentrantReadWriteLock lock = locks.readWriteLock("acl");
                lock.writeLock().runWithLock(() -> {});
                assertThatThrownBy(lock.readLock()::lock)
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("docs/redis.md");
                Permits permits = locks.permits("acl", 2);
                assertThatThrownBy(permits::acquire)
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("docs/redis.md");
                assertThat(admin.keys("*permits*")).isEmpty();

                admin.sendCommand(Command.ACL, "SETUSER", "locks", "+hgetall");
                permits.acquire().close();
                lock.readLock().lock();
                assertThat(locks.inspect("acl").holder()).isPresent();
                lock.readLock().unlock();
            }
        }
    }

    @Test
    void rule_withADatabaseNumber_needsSelectBesides() throws IOException {
        List<String> rule = rule();
        try (RedisServer server = RedisServer.start();
                Jedis admin = server.client()) {
            admin.sendCommand(Command.ACL, rule.subList(1, rule.size()).toArray(String[]::new));
            String uri = USER_URI + server.port() + "/1";
            assertThatThrownBy(() -> RedisLocks.connect(uri)).isInstanceOf(LockUnavailableException.class);

            admin.sendCommand(Command.ACL, "SETUSER", "locks", "+select");
            try (RedisLocks locks = RedisLocks.connect(uri)) {
                assertThat(locks.reentrantLock("acl").tryLock()).isTrue();
            }
        }
    }

    @Test
    void rule_inACluster_needsItsRightsBesides() throws IOException {
        List<String> rule = rule();
        Matcher besides =
                Pattern.compile("a\\s+cluster `(\\+[^`]*)`").matcher(Files.readString(Path.of("docs", "redis.md")));
        assertThat(besides.find()).isTrue();
        try (ClusterServers servers = ClusterServers.start()) {
            tell(servers, rule.subList(1, rule.size()));
            String uri = servers.uri().replace("://", "://locks:a-long-password@");
            assertThatThrownBy(() -> RedisLocks.connect(uri))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("NOPERM");
            List<String> more = new ArrayList<>(List.of("SETUSER", "locks"));
            more.addAll(List.of(besides.group(1).split(" ")));
            tell(servers, more);
            try (RedisLocks locks = RedisLocks.connect(uri)) {
                RedisReentrantLock lock = locks.reentrantLock("acl");
                lock.lock();
                int slot = ClusterServers.slot("{acl}");
                RedisServer source = servers.masterOf("{acl}");
                RedisServer target = servers.masters().stream()
                        .filter(server -> server != source)
                        .findFirst()
                        .orElseThrow();
                servers.beginMigration(slot, source, target);
                servers.moveKeys(slot, source, target, 100);
                assertThat(lock.tryLock()).as("once more, by asking").isTrue();
                servers.endMigration(slot, source, target);
                lock.unlock();
                lock.unlock();
            }
        }
    }

    private static void tell(ClusterServers servers, List<String> rule) {
        for (RedisServer server : servers.servers()) {
            try (Jedis admin = server.client()) {
                admin.sendCommand(Command.ACL, rule.toArray(String[]::new));
            }
        }
    }

    /** Runs every script, by every way on which it calls something. */
    private void useEverything(String uri, Jedis admin) throws Exception {
        RedisLocksBuilder settings = RedisLocks.builder().uri(uri).lease(Duration.ofSeconds(3));
        try (RedisLocks here = settings.build();
                RedisLocks there = settings.build()) {
            RedisReentrantLock lock = here.reentrantLock("acl");
            RedisReentrantLock remote = there.reentrantLock("acl");
            lock.lock();
            lock.lock();
            lock.unlock();
            assertThat(remote.isLocked()).isTrue();
            // Beyond two leases, so that the holder renews and the waiter's heartbeats renew its place.
            assertThat(remote.tryLock(7_500, TimeUnit.MILLISECONDS)).isFalse();

            Future<Boolean> waiting = threads.submit(() -> remote.tryLock(20, TimeUnit.SECONDS) && unlock(remote));
            await().until(() -> admin.type("redis-locks:{acl}:queue").equals("zset"));
            Future<Boolean> neighbour = threads.submit(() -> lock.tryLock(20, TimeUnit.SECONDS) && unlock(lock));
            lock.unlock();
            assertThat(waiting.get(20, TimeUnit.SECONDS)).isTrue();
            assertThat(neighbour.get(20, TimeUnit.SECONDS)).isTrue();

            lock.lock();
            lock.newCondition().signal();
            assertThat(here.inspect("acl").holder()).isPresent();
            assertThat(remote.forceUnlock()).isTrue();
            assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
            assertThat(remote.tryLock()).isTrue();

            try (LockHandle handle = here.reentrantLock("kept").acquire()) {
                assertThat(handle.releaseAfter(Duration.ofSeconds(20))).isTrue();
            }
            assertThat(there.inspect("kept").keptFor()).isPresent();
        }
        assertThat(admin.exists("redis-locks:{acl}")).isFalse();
    }

    private static boolean unlock(RedisReentrantLock lock) {
        lock.unlock();
        return true;
    }

    /** The commands that ran or were refused since the statistics were reset, less the administrator's own. */
    private static Set<String> called(Jedis admin) {
        Set<String> called = new TreeSet<>();
        for (String line : admin.info("commandstats").lines().toList()) {
            if (line.startsWith("cmdstat_")) {
                called.add(
                        line.substring("cmdstat_".length(), line.indexOf(':')).replaceAll("\\|.*", ""));
            }
        }
        called.removeAll(NEEDS_NO_RIGHT);
        called.removeAll(Set.of("config", "acl", "type"));
        return called;
    }

    /** The words of the rule in docs/redis.md. */
    private static List<String> rule() throws IOException {
        Matcher rule = Pattern.compile("```text\\n(ACL SETUSER .*?)```", Pattern.DOTALL)
                .matcher(Files.readString(Path.of("docs", "redis.md")));
        assertThat(rule.find()).isTrue();
        return Arrays.asList(rule.group(1).strip().split("\\s+"));
    }
}
