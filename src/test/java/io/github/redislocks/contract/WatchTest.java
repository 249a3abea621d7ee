package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.JedisServers;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockOptions;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.CommandCount;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.RedisServer.Version;
import io.github.redislocks.fixture.RequestCount;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.RedisProtocol;

/** Holders that Redis tells at once that their lock is gone, without waiting for a renewal. */
@Timeout(60)
@Tag("server")
class WatchTest {

    /** Less than the time to the next renewal, which is 10 s. */
    private static final Duration LONG_BEFORE = Duration.ofSeconds(5);

    private static final String KEY = "redis-locks:{item}";

    private static final LockOptions FIXED = LockOptions.defaults().fixedLease(Duration.ofMinutes(1));

    private final List<AutoCloseable> open = new ArrayList<>();
    /** So that none is abandoned. */
    private final List<LockHandle> handles = new CopyOnWriteArrayList<>();

    private final List<LockLost> losses = new CopyOnWriteArrayList<>();

    private RedisServer server(Version version, String... settings) {
        RedisServer server = RedisServer.start(version, settings);
        open.add(server);
        return server;
    }

    private Jedis admin(RedisServer server) {
        Jedis admin = server.client();
        open.add(admin);
        return admin;
    }

    private RedisLocks watching(RedisServer server) {
        RedisLocks locks = RedisLocks.builder()
                .uri(server.uri())
                .watchDeletions(true)
                .onLockLost(losses::add)
                .build();
        open.add(locks);
        return locks;
    }

    @AfterEach
    void closeAll() throws Exception {
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
    }

    /** A handle of which Redis will tell. */
    private LockHandle watched(RedisLocks locks, CommandCount commands) throws InterruptedException {
        return watched(locks, commands, LockOptions.defaults());
    }

    private LockHandle watched(RedisLocks locks, CommandCount commands, LockOptions options)
            throws InterruptedException {
        commands.reset();
        LockHandle handle = locks.reentrantLock("item", options).acquire();
        handles.add(handle);
        awaitWatched(commands);
        return handle;
    }

    private static LockHandle acquired(RedisLocks locks) {
        try {
            return locks.reentrantLock("item").acquire();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void awaitWatched(CommandCount commands) {
        await().pollInterval(Duration.ofMillis(5)).until(() -> commands.of("exists") >= 1);
    }

    /** Ends the connection of which the server knows which keys it has read. */
    private static void killReading(Jedis admin) {
        String id = admin.clientList()
                .lines()
                .filter(client -> client.contains("flags=t "))
                .map(client -> client.replaceFirst("id=(\\d+).*", "$1"))
                .findFirst()
                .orElseThrow();
        admin.sendCommand(Command.CLIENT, "KILL", "ID", id);
    }

    private static CompletableFuture<LockLost> news(LockHandle handle) {
        return handle.lost().toCompletableFuture();
    }

    private void isTold(CompletableFuture<LockLost> news) {
        await().atMost(LONG_BEFORE).until(news::isDone);
        assertThat(news.join().reason()).isEqualTo(LockLost.Reason.TAKEN);
        await().atMost(LONG_BEFORE).until(() -> losses.size() == 1);
        assertThat(losses.get(0).lockName()).isEqualTo("item");
    }

    private enum Harm {
        DEL,
        UNLINK,
        FLUSHALL,
        FLUSHDB_ASYNC,
        RENAME,
        EXPIRE_NOW,
        OTHER_OWNER,
        EVICTION;

        void on(Jedis admin) {
            switch (this) {
                case DEL -> admin.del(KEY);
                case UNLINK -> admin.unlink(KEY);
                case FLUSHALL -> admin.flushAll();
                case FLUSHDB_ASYNC -> admin.sendCommand(Command.FLUSHDB, "ASYNC");
                case RENAME -> admin.rename(KEY, "elsewhere");
                case EXPIRE_NOW -> admin.pexpireAt(KEY, 1);
                case OTHER_OWNER -> admin.hset(KEY, "owner", "somebody");
                case EVICTION -> evict(admin);
            }
        }

        private static void evict(Jedis admin) {
            admin.configSet("maxmemory-policy", "allkeys-lru");
            admin.configSet("maxmemory", "3mb");
            for (int i = 0; admin.exists(KEY); i++) {
                admin.set("filling " + i, "x".repeat(2_000));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void lost_ofALockThatOthersRemove_isToldLongBeforeTheNextRenewal(Harm harm) throws InterruptedException {
        RedisServer server = server(Version.V7_0);
        try (CommandCount commands = CommandCount.on(server)) {
            CompletableFuture<LockLost> news = news(watched(watching(server), commands));
            harm.on(admin(server));
            isTold(news);
        }
    }

    @ParameterizedTest
    @CsvSource({"V6_2, RESP2", "V6_2, RESP3", "V7_0, RESP2", "V7_0, RESP3"})
    void lost_byAnyServerAndProtocol_isTold(Version version, RedisProtocol protocol) throws InterruptedException {
        RedisServer server = server(version);
        RedisLocks locks = RedisLocks.builder()
                .servers(JedisServers.single(
                        server.address(),
                        DefaultJedisClientConfig.builder().protocol(protocol).build()))
                .watchDeletions(true)
                .onLockLost(losses::add)
                .build();
        open.add(locks);
        try (CommandCount commands = CommandCount.on(server)) {
            CompletableFuture<LockLost> news = news(watched(locks, commands));
            admin(server).del(KEY);
            isTold(news);
            losses.clear();
            news = news(watched(locks, commands));
            admin(server).flushAll();
            isTold(news);
        }
    }

    /** Many are renewed by one script. */
    @Test
    void lost_ofEachOfManyLocks_isTold() throws InterruptedException {
        RedisServer server = server(Version.V7_0);
        RedisLocks locks = watching(server);
        List<CompletableFuture<LockLost>> news = new ArrayList<>();
        try (RequestCount requests = RequestCount.on(server)) {
            for (int i = 0; i < 40; i++) {
                LockHandle handle = locks.reentrantLock("item " + i).acquire();
                handles.add(handle);
                news.add(news(handle));
            }
            await().until(() -> requests.all().stream()
                            .filter(request -> request.endsWith("\"watched\""))
                            .mapToInt(request -> request.split("redis-locks:", -1).length - 1)
                            .sum()
                    >= 40);
        }
        Jedis admin = admin(server);
        for (int i = 0; i < 40; i++) {
            admin.del("redis-locks:{item " + i + "}");
        }
        CompletableFuture<Void> all = CompletableFuture.allOf(news.toArray(CompletableFuture<?>[]::new));
        await().atMost(LONG_BEFORE).until(all::isDone);
    }

    private static long remembered(Jedis admin) {
        return admin.info("stats")
                .lines()
                .filter(line -> line.startsWith("tracking_total_keys:"))
                .mapToLong(line ->
                        Long.parseLong(line.substring(line.indexOf(':') + 1).strip()))
                .sum();
    }

    /** The renewal that finds a lock gone has read its name too, which nobody may ever use again. */
    @ParameterizedTest
    @CsvSource({"V6_2, 1", "V6_2, 40", "V7_0, 1", "V7_0, 40"})
    void lost_lockThatIsGone_isNotRememberedByTheServer(Version version, int count) throws InterruptedException {
        RedisServer server = server(version);
        RedisLocks locks = watching(server);
        List<CompletableFuture<LockLost>> news = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            LockHandle handle = locks.reentrantLock("item " + i).acquire();
            handles.add(handle);
            news.add(news(handle));
        }
        Jedis admin = admin(server);
        await().pollInterval(Duration.ofMillis(5)).until(() -> remembered(admin) == count);
        admin.flushAll();
        CompletableFuture<Void> all = CompletableFuture.allOf(news.toArray(CompletableFuture<?>[]::new));
        await().atMost(LONG_BEFORE).until(all::isDone);
        assertThat(remembered(admin)).isZero();
        assertThat(admin.keys("*")).isEmpty();
    }

    @Test
    void ensureHeld_ofAThreadWhoseLockWasDeleted_throwsLongBeforeTheNextRenewal() {
        RedisServer server = server(Version.V7_0);
        RedisReentrantLock lock = watching(server).reentrantLock("item");
        try (CommandCount commands = CommandCount.on(server)) {
            lock.lock();
            awaitWatched(commands);
            admin(server).del(KEY);
            await().atMost(LONG_BEFORE).until(() -> losses.size() == 1);
            assertThat(lock.isHeldByCurrentThread()).isFalse();
        }
    }

    @Test
    void fixedLease_thatIsDeleted_isTold() throws InterruptedException {
        RedisServer server = server(Version.V7_0);
        try (CommandCount commands = CommandCount.on(server)) {
            CompletableFuture<LockLost> news = news(watched(watching(server), commands, FIXED));
            admin(server).del(KEY);
            isTold(news);
        }
    }

    /** The heartbeats of the waiter go on the connection of whose changes Redis does not tell. */
    @Test
    void fixedLease_thatIsDeletedWhileAThreadOfItsClientWaits_isTold() throws InterruptedException {
        RedisServer server = server(Version.V7_0);
        RedisLocks locks = watching(server);
        try (CommandCount commands = CommandCount.on(server)) {
            CompletableFuture<LockLost> news = news(watched(locks, commands, FIXED));
            Thread waiter = new Thread(
                    () -> locks.reentrantLock("item", LockOptions.defaults().fair(true))
                            .lock());
            waiter.start();
            await().until(() -> commands.of("zadd") >= 3);
            admin(server).del(KEY);
            isTold(news);
            waiter.join();
        }
    }

    @Test
    void fixedLease_thatIsDeletedWhileAnAsynchronousAcquisitionOfItsClientWaits_isTold() throws InterruptedException {
        RedisServer server = server(Version.V7_0);
        RedisLocks locks = watching(server);
        try (CommandCount commands = CommandCount.on(server)) {
            CompletableFuture<LockLost> news = news(watched(locks, commands, FIXED));
            CompletableFuture<Void> next = locks.reentrantLock(
                            "item", LockOptions.defaults().fair(true))
                    .acquireAsync()
                    .thenAccept(handles::add);
            Jedis admin = admin(server);
            await().until(() -> admin.zcard(KEY + ":queue") == 1);
            admin.del(KEY);
            isTold(news);
            next.join();
        }
    }

    @Test
    void reentry_whichChangesTheKey_isNoLossAndTheLockIsStillWatched() {
        RedisServer server = server(Version.V7_0);
        RedisReentrantLock lock = watching(server).reentrantLock("item");
        try (CommandCount commands = CommandCount.on(server)) {
            lock.lock();
            awaitWatched(commands);
            commands.reset();
            lock.lock();
            awaitWatched(commands);
            commands.reset();
            lock.unlock();
            awaitWatched(commands);
            lock.ensureHeld();
            assertThat(losses).isEmpty();
            admin(server).del(KEY);
            await().atMost(LONG_BEFORE).until(() -> losses.size() == 1);
        }
    }

    @Test
    void watch_whoseSubscriptionIsKilled_worksAgain() throws InterruptedException {
        RedisServer server = server(Version.V7_0);
        try (CommandCount commands = CommandCount.on(server)) {
            LockHandle handle = watched(watching(server), commands);
            CompletableFuture<LockLost> news = news(handle);
            commands.reset();
            admin(server).sendCommand(Command.CLIENT, "KILL", "TYPE", "pubsub");
            awaitWatched(commands);
            handle.ensureHeld();
            admin(server).del(KEY);
            isTold(news);
        }
    }

    @Test
    void watch_whoseReadingConnectionIsKilled_worksAgainFromItsNextUse() throws InterruptedException {
        RedisServer server = server(Version.V7_0);
        try (CommandCount commands = CommandCount.on(server)) {
            RedisLocks locks = watching(server);
            LockHandle handle = watched(locks, commands);
            CompletableFuture<LockLost> news = news(handle);
            killReading(admin(server));
            commands.reset();
            try (LockHandle another = locks.reentrantLock("another").acquire()) {
                await().until(() -> commands.of("exists") >= 2);
                another.ensureHeld();
            }
            handle.ensureHeld();
            admin(server).del(KEY);
            isTold(news);
        }
    }

    @Test
    void lockUnlockAndRenewal_manyTimes_areNoLoss() throws InterruptedException {
        RedisServer server = server(Version.V7_0);
        RedisLocks locks = RedisLocks.builder()
                .uri(server.uri())
                .watchDeletions(true)
                .lease(Duration.ofSeconds(3))
                .onLockLost(losses::add)
                .build();
        open.add(locks);
        RedisLocks others = watching(server);
        Set<Throwable> failures = ConcurrentHashMap.newKeySet();
        List<Thread> threads = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(4);
        for (int i = 0; i < 8; i++) {
            RedisLocks client = i % 2 == 0 ? locks : others;
            Thread thread = new Thread(() -> {
                while (System.nanoTime() < end) {
                    RedisReentrantLock lock = client.reentrantLock(
                            "item " + ThreadLocalRandom.current().nextInt(6));
                    lock.lock();
                    LockSupport.parkNanos(ThreadLocalRandom.current().nextInt(60_000_000));
                    lock.lock();
                    lock.unlock();
                    lock.unlock();
                }
            });
            thread.setUncaughtExceptionHandler((failed, e) -> failures.add(e));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failures).isEmpty();
        assertThat(losses).isEmpty();
    }

    @Test
    void lockAndUnlock_thatIsShort_costsNothingMore() {
        RedisServer server = server(Version.V7_0);
        RedisReentrantLock lock = watching(server).reentrantLock("item");
        lock.lock();
        lock.unlock();
        try (RequestCount requests = RequestCount.on(server)) {
            for (int i = 0; i < 100; i++) {
                lock.lock();
                lock.unlock();
            }
            // A lock may meet a pause of this machine, and is watched then.
            assertThat(requests.of("evalsha")).isBetween(200L, 202L);
        }
    }

    @Test
    void hold_thatLasts_costsOneRequestInTheBackground() throws InterruptedException {
        RedisServer server = server(Version.V7_0);
        RedisLocks locks = watching(server);
        try (CommandCount commands = CommandCount.on(server);
                RequestCount requests = RequestCount.on(server)) {
            LockHandle handle = watched(locks, commands);
            await().during(Duration.ofMillis(500)).until(() -> requests.of("evalsha") == 2);
            assertThat(requests.of("publish")).isZero();
            handle.close();
            assertThat(requests.of("evalsha")).isEqualTo(3);
        }
    }

    @Test
    void client_thatDoesNotWatch_asksForNothing() throws InterruptedException {
        RedisServer server = server(Version.V7_0);
        try (CommandCount commands = CommandCount.on(server);
                RequestCount requests = RequestCount.on(server);
                RedisLocks locks = RedisLocks.builder()
                        .uri(server.uri())
                        .lease(Duration.ofSeconds(3))
                        .build()) {
            try (LockHandle handle = locks.reentrantLock("item").acquire()) {
                CompletableFuture<LockLost> news = news(handle);
                await().until(() -> commands.of("evalsha") >= 3);
                assertThat(news).isNotDone();
            }
            assertThat(commands.all()).doesNotContainKeys("client|tracking", "client|caching", "client|id");
            assertThat(requests.all()).noneMatch(request -> request.endsWith("\"watched\""));
        }
    }

    @ParameterizedTest
    @EnumSource
    void build_withTheRightsThatTheReadmeNames_works(Version version) throws InterruptedException {
        RedisServer server = server(version);
        String rule = "on >s3cret resetkeys resetchannels ~redis-locks:* &redis-locks:* -@all"
                + " +evalsha +eval +publish +subscribe +info +time +exists +del +pexpire +pttl +get +set +append"
                + " +hget +hmget +hset +hsetnx +hdel +hincrby +zadd +zrem +zpopmin +zscore +zrange +zrangebylex +zcard"
                + " +client|id +client|tracking +client|caching &__redis__:invalidate";
        admin(server).aclSetUser("app", rule.split(" "));
        RedisLocks locks = RedisLocks.builder()
                .uri("redis://app:s3cret@" + server.address())
                .watchDeletions(true)
                .onLockLost(losses::add)
                .build();
        open.add(locks);
        try (CommandCount commands = CommandCount.on(server)) {
            CompletableFuture<LockLost> news = news(watched(locks, commands));
            admin(server).del(KEY);
            isTold(news);
        }
    }

    @ParameterizedTest
    @CsvSource({"-client|tracking", "-client|caching", "-client|id", "resetchannels &redis-locks:*"})
    void build_withoutARight_isRefusedWithWhatToDo(String rule) {
        RedisServer server = server(Version.V7_0);
        admin(server).aclSetUser("app", ("on >s3cret ~* &* +@all " + rule).split(" "));
        RedisLocksBuilder builder = RedisLocks.builder()
                .uri("redis://app:s3cret@" + server.address())
                .connectWithin(Duration.ofMinutes(1));
        assertThatThrownBy(() -> builder.watchDeletions(true).build())
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("NOPERM")
                .hasMessageContaining("Grant +client|id +client|tracking +client|caching");
        builder.watchDeletions(false).build().close();
    }

    @Test
    void right_thatIsTakenLater_isToldOnceAndLocksWork() {
        RedisServer server = server(Version.V7_0);
        Jedis admin = admin(server);
        admin.aclSetUser("app", "on", ">s3cret", "~*", "&*", "+@all");
        RedisLocks locks = RedisLocks.builder()
                .uri("redis://app:s3cret@" + server.address())
                .watchDeletions(true)
                .lease(Duration.ofSeconds(3))
                .onLockLost(losses::add)
                .build();
        open.add(locks);
        String log = Logged.by(() -> {
            LockHandle handle = acquired(locks);
            admin.aclSetUser("app", "-client|tracking");
            admin.sendCommand(Command.CLIENT, "KILL", "USER", "app");
            await().until(() -> Logged.soFar().contains("does not report deleted locks"));
            CompletableFuture<LockLost> news = news(handle);
            admin.del(KEY);
            isTold(news);
        });
        assertThat(log.split("does not report", -1)).hasSize(2);
    }

    @Test
    void build_ofAQuorum_isNotSupported() {
        assertThatThrownBy(() -> RedisLocks.builder()
                        .quorum("redis://localhost:1", "redis://localhost:2", "redis://localhost:3")
                        .watchDeletions(true)
                        .build())
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("watchDeletions(true)")
                .hasMessageContaining("quorum: leave it out");
    }
}
