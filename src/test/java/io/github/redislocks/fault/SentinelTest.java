package io.github.redislocks.fault;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.JedisServers;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.SentinelServer;
import io.github.redislocks.fixture.SentinelServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.params.ClientKillParams;

/** Tests locks on real servers while Sentinels make another server the master. */
@Tag("once")
@Timeout(120)
@Tag("server")
class SentinelTest {

    /** Longer than a failover, so that a hold outlives it. */
    private static final Duration LEASE = Duration.ofSeconds(9);

    private static final Duration RENEWAL = LEASE.dividedBy(3);
    private static final Duration SLACK = Duration.ofMillis(500);
    private static final String KEY = "redis-locks:{job}";

    private final List<LockLost> losses = new CopyOnWriteArrayList<>();
    private final List<RedisLocks> clients = new ArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private SentinelServers servers;

    @BeforeEach
    void start() {
        servers = SentinelServers.start();
    }

    @AfterEach
    void stop() {
        threads.shutdownNow();
        clients.forEach(RedisLocks::close);
        servers.close();
    }

    private RedisLocks connect() {
        RedisLocks client = RedisLocks.builder()
                .uri(servers.uri())
                .lease(LEASE)
                .commandTimeout(Duration.ofMillis(500))
                .onLockLost(losses::add)
                .build();
        clients.add(client);
        return client;
    }

    private boolean isOnAllReplicas(String key) {
        return servers.replicas().stream().allMatch(replica -> exists(replica, key));
    }

    private static boolean exists(RedisServer server, String key) {
        try (Jedis jedis = server.client()) {
            return jedis.exists(key);
        }
    }

    private static long pttl(RedisServer server) {
        try (Jedis jedis = server.client()) {
            return jedis.pttl(KEY);
        }
    }

    /** The master dies, as if before it could tell the replicas of the hold; returns when another has the role. */
    private void failOverWithoutTheHold() {
        RedisServer old = servers.master();
        await().until(() -> isOnAllReplicas(KEY));
        for (RedisServer replica : servers.replicas()) {
            try (Jedis jedis = replica.client()) {
                jedis.configSet("replica-read-only", "no");
                assertThat(jedis.del(KEY)).isEqualTo(1);
            }
        }
        old.kill();
        servers.awaitPromotion(old);
    }

    private Future<Long> lockElsewhere(RedisReentrantLock lock) {
        return threads.submit(() -> {
            lock.lock();
            try {
                return lock.fencingToken();
            } finally {
                lock.unlock();
            }
        });
    }

    private static void awaitQueued(RedisServer master, int places) {
        await().until(() -> queued(master).size() == places);
    }

    private static List<String> queued(RedisServer master) {
        try (Jedis jedis = master.client()) {
            return jedis.zrange(KEY + ":queue", 0, -1);
        }
    }

    /** The longest that a timed try of a second took, until it is stopped; of a lock that is held by others. */
    private Future<Duration> timedTries(RedisReentrantLock lock, AtomicBoolean stop) {
        return threads.submit(() -> {
            Duration longest = Duration.ZERO;
            while (!stop.get()) {
                long began = System.nanoTime();
                try {
                    if (lock.tryLock(1, TimeUnit.SECONDS)) {
                        lock.unlock();
                    }
                } catch (LockUnavailableException away) {
                    // The failover is on; it is the time that counts.
                }
                Duration took = Duration.ofNanos(System.nanoTime() - began);
                longest = took.compareTo(longest) > 0 ? took : longest;
            }
            return longest;
        });
    }

    @Test
    void masterDies_holdThatReachedTheReplica_survives_andWaitersAreServed() throws Exception {
        RedisLocks here = connect();
        RedisLocks there = connect();
        RedisServer old = servers.master();
        RedisReentrantLock lock = here.reentrantLock("job");
        lock.lock();
        long token = lock.fencingToken();
        Future<Long> first = lockElsewhere(here.reentrantLock("job"));
        Future<Long> second = lockElsewhere(there.reentrantLock("job"));
        // A client that holds the lock has no place in Redis for its other threads.
        awaitQueued(old, 1);
        await().until(() -> lock.getQueueLength() == 1);
        List<String> waiting = queued(old);
        await().until(() -> isOnAllReplicas(KEY + ":queue"));
        AtomicBoolean stop = new AtomicBoolean();
        Future<Duration> tries = timedTries(connect().reentrantLock("job"), stop);

        old.kill();
        RedisServer promoted = servers.awaitPromotion(old);
        long began = System.nanoTime();
        await().atMost(RENEWAL.plus(SLACK))
                .until(() -> pttl(promoted) > LEASE.minus(SLACK).toMillis());
        System.out.println("Renewed on the new master after " + (System.nanoTime() - began) / 1_000_000 + " ms");
        await().pollInSameThread().during(LEASE).atMost(LEASE.plus(SLACK)).until(lock::isHeldByCurrentThread);
        stop.set(true);
        Duration longest = tries.get();
        System.out.println("A timed try of 1 s took at most " + longest.toMillis() + " ms");
        assertThat(longest).isLessThan(Duration.ofMillis(1_200));

        // A try may have left the line of the old master only: its place goes with its claim.
        await().until(() -> queued(promoted).containsAll(waiting));
        lock.unlock();
        assertThat(List.of(first.get(5, TimeUnit.SECONDS), second.get(5, TimeUnit.SECONDS)))
                .doesNotHaveDuplicates()
                .allMatch(later -> later > token);
        assertThat(losses).isEmpty();
    }

    @Test
    void masterDies_holdThatDidNotReachTheReplica_isTaken_andTokensGrow() {
        RedisLocks locks = connect();
        RedisReentrantLock lock = locks.reentrantLock("job");
        lock.lock();
        long token = lock.fencingToken();
        failOverWithoutTheHold();
        long began = System.nanoTime();
        await().atMost(RENEWAL.plus(SLACK)).until(() -> losses.size() == 1);
        System.out.println("Told after " + (System.nanoTime() - began) / 1_000_000 + " ms");
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        RedisReentrantLock next = connect().reentrantLock("job");
        next.lock();
        assertThat(next.fencingToken()).isGreaterThan(token);
        next.unlock();
    }

    @Test
    void masterDies_holdWithAFixedLeaseThatDidNotReachTheReplica_isTakenToo() {
        RedisReentrantLock lock = connect().reentrantLock("job");
        fixed(lock, Duration.ofMinutes(1)).lock();
        failOverWithoutTheHold();
        await().atMost(RENEWAL.plus(SLACK)).until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
    }

    @Test
    void masterDies_releaseThatDidNotReachTheReplica_isSaidAgain() throws InterruptedException {
        RedisReentrantLock next = connect().reentrantLock("job");
        RedisReentrantLock lock = connect().reentrantLock("job");
        fixed(lock, Duration.ofMinutes(1)).lock();
        RedisServer old = servers.master();
        List<RedisServer> replicas = servers.replicas();
        await().until(() -> isOnAllReplicas(KEY));
        replicas.forEach(RedisServer::pause);
        try (Jedis jedis = old.client()) {
            jedis.clientKill(new ClientKillParams().type(ClientType.REPLICA));
        }
        lock.unlock();
        old.kill();
        replicas.forEach(RedisServer::resume);
        RedisServer promoted = servers.awaitPromotion(old);
        long began = System.nanoTime();
        await().atMost(Duration.ofSeconds(20)).until(() -> !exists(promoted, KEY));
        System.out.println("Freed on the new master after " + (System.nanoTime() - began) / 1_000_000 + " ms");
        assertThat(next.tryLock(10, TimeUnit.SECONDS)).isTrue();
        assertThat(next.previousHolderLost()).isFalse();
        next.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void masterHangs_waiterAndHolder_goOnOnTheNewOne() throws Exception {
        RedisLocks here = connect();
        RedisReentrantLock lock = here.reentrantLock("job");
        lock.lock();
        Future<Long> waiter = lockElsewhere(connect().reentrantLock("job"));
        RedisServer old = servers.master();
        awaitQueued(old, 1);
        await().until(() -> isOnAllReplicas(KEY + ":queue"));
        old.pause();
        RedisServer promoted = servers.awaitPromotion(old);
        await().atMost(RENEWAL.plus(SLACK))
                .until(() -> pttl(promoted) > LEASE.minus(SLACK).toMillis());
        lock.unlock();
        assertThat(waiter.get(5, TimeUnit.SECONDS)).isPositive();
        old.resume();
        assertThat(losses).isEmpty();
    }

    @Test
    void failoverByHand_calls_goToTheNewMaster() {
        RedisLocks locks = connect();
        RedisReentrantLock lock = locks.reentrantLock("job");
        lock.lock();
        RedisServer old = servers.master();
        await().until(() -> isOnAllReplicas(KEY));
        try (Jedis sentinel = servers.sentinels().get(0).client()) {
            sentinel.sentinelFailover(SentinelServers.MASTER);
        }
        RedisServer promoted = servers.awaitPromotion(old);
        servers.awaitNamed(promoted);
        await().atMost(Duration.ofSeconds(2)).until(() -> {
            locks.reentrantLock("other").runWithLock(() -> {});
            return exists(promoted, "redis-locks:{other}:fence");
        });
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        await().atMost(SLACK).until(() -> pttl(promoted) > 0);
        lock.unlock();
        assertThat(exists(promoted, KEY)).isFalse();
        assertThat(losses).isEmpty();
    }

    @Test
    void sentinelsDie_locks_goOnOnTheKnownMaster() throws Exception {
        RedisLocks here = connect();
        RedisLocks there = connect();
        servers.sentinels().forEach(SentinelServer::kill);
        RedisReentrantLock lock = here.reentrantLock("job");
        lock.lock();
        Future<Long> waiter = lockElsewhere(there.reentrantLock("job"));
        awaitQueued(servers.master(), 1);
        lock.unlock();
        assertThat(waiter.get(5, TimeUnit.SECONDS)).isPositive();
        assertThatThrownBy(this::connect)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("No Sentinel names the master " + SentinelServers.MASTER)
                .hasMessageContaining(servers.sentinels().get(2).address().toString())
                .hasMessageContaining("refused");
    }

    @Test
    void sentinelWithOldNews_alone_leadsNobodyBack() {
        RedisLocks locks = connect();
        RedisServer old = servers.master();
        SentinelServer cutOff = servers.sentinels().get(0);
        cutOff.kill();
        try (Jedis sentinel = servers.sentinels().get(1).client()) {
            sentinel.sentinelFailover(SentinelServers.MASTER);
        }
        RedisServer promoted = servers.awaitPromotion(old);
        await().atMost(Duration.ofSeconds(5)).until(() -> {
            locks.reentrantLock("job").runWithLock(() -> {});
            return exists(promoted, KEY + ":fence");
        });
        servers.sentinels().get(1).kill();
        servers.sentinels().get(2).kill();
        cutOff.restart();
        // The premise: it has not heard of the failover.
        servers.awaitNamed(old);
        AtomicInteger locked = new AtomicInteger();
        await().during(Duration.ofMillis(1_500)).atMost(Duration.ofSeconds(3)).until(() -> {
            // Another one each time: its fence is where it was locked, and stays there.
            String name = "later-" + locked.incrementAndGet();
            locks.reentrantLock(name).runWithLock(() -> {});
            return exists(promoted, "redis-locks:{" + name + "}:fence");
        });
    }

    private RedisLocks connectAlsoTo(SentinelServer wrong) {
        RedisLocks client = RedisLocks.builder()
                .uri(servers.uri().replace("//", "//" + wrong.address() + ","))
                .lease(LEASE)
                .commandTimeout(Duration.ofMillis(500))
                .onLockLost(losses::add)
                .build();
        clients.add(client);
        return client;
    }

    /** Whether every lock that is taken for a while is taken on this server. */
    private static void assertStaysAt(RedisServer master, RedisLocks locks) {
        AtomicInteger locked = new AtomicInteger();
        await().during(Duration.ofMillis(1_500)).atMost(Duration.ofSeconds(5)).until(() -> {
            String name = "later-" + locked.incrementAndGet();
            locks.reentrantLock(name).runWithLock(() -> {});
            return exists(master, "redis-locks:{" + name + "}:fence");
        });
    }

    @Test
    void sentinelOfAnotherServer_withAGreaterEpoch_isNotFollowed() {
        try (RedisServer alien = RedisServer.start();
                SentinelServer wrong = SentinelServer.startAlone(SentinelServers.MASTER, alien, 99)) {
            assertStaysAt(servers.master(), connectAlsoTo(wrong));
            wrong.pause();
            RedisLocks before = connectAlsoTo(wrong);
            before.reentrantLock("job").runWithLock(() -> {});
            wrong.resume();
            assertStaysAt(servers.master(), before);
            try (Jedis jedis = alien.client()) {
                assertThat(jedis.keys("*")).isEmpty();
            }
        }
    }

    @Test
    void sentinelOfAnotherServer_thatAloneAnsweredAtConnect_isLeftForTheMasterOfMost() {
        try (RedisServer alien = RedisServer.start();
                SentinelServer wrong = SentinelServer.startAlone(SentinelServers.MASTER, alien, 99)) {
            servers.sentinels().forEach(SentinelServer::pause);
            RedisLocks locks = connectAlsoTo(wrong);
            RedisReentrantLock lock = locks.reentrantLock("job");
            fixed(lock, Duration.ofMinutes(1)).lock();
            servers.sentinels().forEach(SentinelServer::resume);
            await().until(() -> losses.size() == 1);
            assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
            assertStaysAt(servers.master(), locks);
        }
    }

    @Test
    void connect_whileTheMasterHangs_reachesTheNewOne() {
        RedisServer old = servers.master();
        old.pause();
        try (RedisLocks locks = RedisLocks.builder()
                .uri(servers.uri())
                .commandTimeout(Duration.ofSeconds(20))
                .build()) {
            locks.reentrantLock("job").runWithLock(() -> {});
        }
        assertThat(exists(servers.awaitPromotion(old), KEY + ":fence")).isTrue();
    }

    @Test
    void connect_wrongMasterName_saysSo() {
        String uri = servers.uri().replace("/" + SentinelServers.MASTER, "/lokcs");
        long began = System.nanoTime();
        assertThatThrownBy(() -> RedisLocks.connect(uri))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("lokcs")
                .hasMessageContaining("knows no such master")
                .hasMessageContaining("sentinel monitor");
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(1));
    }

    @Test
    void connect_someSentinelsAwayOrHanging_findsTheMaster() {
        servers.sentinels().get(0).kill();
        servers.sentinels().get(1).pause();
        long began = System.nanoTime();
        connect().reentrantLock("job").runWithLock(() -> {});
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(SLACK);
    }

    @Test
    void connect_allSentinelsHang_failsInTime() {
        servers.sentinels().forEach(SentinelServer::pause);
        long began = System.nanoTime();
        assertThatThrownBy(this::connect)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("has not answered yet");
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofMillis(700));
    }

    @Test
    void close_everyThread_ends() {
        RedisLocks locks = RedisLocks.connect(servers.uri());
        String ofThisClient = locks.clientId().replaceFirst(".*:", "-");
        assertThat(isAlive("redis-locks-sentinels-", ofThisClient)).isTrue();
        locks.close();
        await().atMost(Duration.ofSeconds(1)).until(() -> !isAlive("redis-locks-", ofThisClient));
    }

    private static boolean isAlive(String first, String last) {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(each ->
                        each.getName().startsWith(first) && each.getName().endsWith(last));
    }

    @Test
    void sentinelWithAPassword_isLoggedInByUriAndByBuilder() {
        try (SentinelServers guarded = SentinelServers.startGuarded("se&cret")) {
            String uri = guarded.uri();
            try (RedisLocks locks = RedisLocks.connect(uri + "?sentinelPassword=se%26cret&clientName=shop")) {
                locks.reentrantLock("job").runWithLock(() -> {});
            }
            HostAndPort address = guarded.sentinels().get(0).address();
            JedisClientConfig plain = DefaultJedisClientConfig.builder().build();
            JedisClientConfig login =
                    DefaultJedisClientConfig.builder().password("se&cret").build();
            try (RedisLocks locks = RedisLocks.builder()
                    .servers(JedisServers.sentinel(SentinelServers.MASTER, List.of(address), plain, login))
                    .build()) {
                locks.reentrantLock("job").runWithLock(() -> {});
            }
            assertThatThrownBy(() -> RedisLocks.connect(uri))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("NOAUTH");
        }
    }
}
