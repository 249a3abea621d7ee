package io.github.redislocks.fault;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.JedisServers;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockOptions;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.params.ClientKillParams;

/** Tests locks on a real cluster while slots move and nodes die or hang. */
@Tag("once")
@Timeout(120)
@Tag("server")
class ClusterTest {

    /** Longer than a failover, so that a hold outlives it. */
    private static final Duration LEASE = Duration.ofSeconds(9);

    private static final Duration RENEWAL = LEASE.dividedBy(3);
    private static final Duration SLACK = Duration.ofMillis(500);

    private static ClusterServers servers;

    private final String name = "job-" + UUID.randomUUID();
    private final String key = key(name);
    private final int slot = ClusterServers.slot(key);
    private final List<LockLost> losses = new CopyOnWriteArrayList<>();
    private final List<RedisLocks> clients = new ArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @BeforeAll
    static void start() {
        servers = ClusterServers.start();
    }

    @AfterAll
    static void stop() {
        servers.close();
    }

    @AfterEach
    void repair() {
        threads.shutdownNow();
        clients.forEach(RedisLocks::close);
        for (RedisServer server : servers.servers()) {
            if (server.isRunning()) {
                server.resume();
            } else {
                server.restart();
            }
        }
        servers.abandonMigration(slot);
        servers.awaitStable();
    }

    private RedisLocks connect(Duration lease) {
        RedisLocks client = RedisLocks.builder()
                .uri(servers.uri())
                .lease(lease)
                .commandTimeout(Duration.ofMillis(500))
                .onLockLost(losses::add)
                .build();
        clients.add(client);
        return client;
    }

    private RedisLocks connect() {
        return connect(LEASE);
    }

    private static String key(String lock) {
        return "redis-locks:{" + lock + "}";
    }

    /** A lock name whose slot is served by this master. */
    private static String nameOn(RedisServer master) {
        // The slot of a name is that of its key, of which only what stands in braces counts.
        return servers.nameOn(master, UUID.randomUUID() + "-");
    }

    private static RedisServer anotherThan(RedisServer master) {
        return servers.masters().stream()
                .filter(server -> server != master)
                .findFirst()
                .orElseThrow();
    }

    private static boolean exists(RedisServer server, String key) {
        try (Jedis jedis = server.client()) {
            return jedis.clusterGetKeysInSlot(ClusterServers.slot(key), 100).contains(key);
        }
    }

    private static long pttl(RedisServer master, String key) {
        try (Jedis jedis = master.client()) {
            return jedis.pttl(key);
        }
    }

    private void awaitQueued(RedisServer master, int places) {
        try (Jedis jedis = master.client()) {
            await().until(() -> jedis.zcard(key + ":queue") == places);
        }
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

    @Test
    void names_onAllMasters_withBracesToo_areLocksOfTheirOwn() {
        RedisLocks here = connect();
        RedisLocks there = connect();
        List<String> names = new ArrayList<>(List.of("{a}b", "a{b}", "{}", "}{", "%7B", "{a", "a}"));
        servers.masters().forEach(master -> names.add(nameOn(master)));
        names.forEach(
                each -> assertThat(here.reentrantLock(each).tryLock()).as(each).isTrue());
        names.forEach(
                each -> assertThat(there.reentrantLock(each).tryLock()).as(each).isFalse());
        for (String each : names) {
            RedisReentrantLock lock = here.reentrantLock(each);
            Future<Long> waiter = lockElsewhere(there.reentrantLock(each));
            await().until(() -> here.inspect(each).queueLength() == 1);
            long token = lock.fencingToken();
            lock.unlock();
            assertThat(waiter)
                    .succeedsWithin(Duration.ofSeconds(1))
                    .satisfies(next -> assertThat(next).isGreaterThan(token));
        }
        assertThat(losses).isEmpty();
    }

    @Test
    void slotOfAHeldLockMoves_holderAndWaiter_goOnThere() {
        RedisReentrantLock lock = connect(Duration.ofMillis(900)).reentrantLock(name);
        lock.lock();
        long token = lock.fencingToken();
        RedisServer source = servers.masterOf(key);
        RedisServer target = anotherThan(source);
        Future<Long> waiter = lockElsewhere(connect().reentrantLock(name));
        awaitQueued(source, 1);
        servers.migrate(slot, source, target);
        await().pollInSameThread()
                .during(Duration.ofSeconds(2))
                .atMost(Duration.ofSeconds(3))
                .until(lock::isHeldByCurrentThread);
        awaitQueued(target, 1);
        lock.unlock();
        assertThat(waiter)
                .succeedsWithin(Duration.ofSeconds(2))
                .satisfies(next -> assertThat(next).isGreaterThan(token));
        assertThat(losses).isEmpty();
    }

    @Test
    void slotIsBeingMoved_holdIsRenewed_andOthersWaitUntilItHasMoved() {
        // A stall of the machine ends no lease; a renewal that is not done does.
        Duration lease = Duration.ofMillis(2_400);
        RedisReentrantLock lock = connect(lease).reentrantLock(name);
        lock.lock();
        RedisServer source = servers.masterOf(key);
        RedisServer target = anotherThan(source);
        servers.beginMigration(slot, source, target);
        Duration longer = lease.plus(SLACK);
        await().pollInSameThread().during(longer).atMost(longer.plus(SLACK)).until(lock::isHeldByCurrentThread);
        assertThat(servers.moveKeys(slot, source, target, 100)).isEqualTo(2);
        await().pollInSameThread().during(longer).atMost(longer.plus(SLACK)).until(lock::isHeldByCurrentThread);
        RedisReentrantLock other = connect().reentrantLock(name);
        assertThat(other.tryLock()).as("all that it looks at has moved").isFalse();
        Future<Long> waiter = lockElsewhere(other);
        servers.endMigration(slot, source, target);
        awaitQueued(target, 1);
        lock.unlock();
        assertThat(waiter).succeedsWithin(Duration.ofSeconds(2));
        assertThat(losses).isEmpty();
    }

    @Test
    void slotMovesUnderLoad_oneOwnerAtATime_andNobodyIsFailed() throws Exception {
        RedisLocks here = connect();
        RedisLocks there = connect();
        AtomicBoolean stop = new AtomicBoolean();
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger doubles = new AtomicInteger();
        AtomicInteger done = new AtomicInteger();
        List<Future<Integer>> users = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            RedisReentrantLock lock = (i % 2 == 0 ? here : there).reentrantLock(name);
            users.add(threads.submit(() -> {
                int mine = 0;
                while (!stop.get()) {
                    lock.lock();
                    try {
                        doubles.addAndGet(inside.getAndIncrement());
                        mine++;
                        done.incrementAndGet();
                        inside.decrementAndGet();
                    } finally {
                        lock.unlock();
                    }
                }
                return mine;
            }));
        }
        for (int i = 0; i < 30; i++) {
            int before = done.get();
            await().until(() -> done.get() > before);
            RedisServer source = servers.masterOf(key);
            servers.migrate(slot, source, anotherThan(source));
        }
        int last = done.get();
        await().until(() -> done.get() > last + 6);
        stop.set(true);
        for (Future<Integer> user : users) {
            assertThat(user.get(10, TimeUnit.SECONDS)).isPositive();
        }
        System.out.println("Locked " + done + " times while the slot moved 30 times");
        assertThat(doubles).hasValue(0);
        assertThat(losses).isEmpty();
    }

    @Test
    void masterDies_holdThatReachedTheReplica_survives_andWaitersAreServed() throws Exception {
        RedisLocks here = connect();
        RedisReentrantLock lock = here.reentrantLock(name);
        lock.lock();
        long token = lock.fencingToken();
        RedisServer old = servers.masterOf(key);
        RedisServer replica = servers.replicaOf(old);
        Future<Long> first = lockElsewhere(here.reentrantLock(name));
        Future<Long> second = lockElsewhere(connect().reentrantLock(name));
        awaitQueued(old, 1);
        await().until(() -> exists(replica, key + ":queue"));
        old.kill();
        servers.awaitPromoted(replica);
        long began = System.nanoTime();
        await().atMost(RENEWAL.plus(SLACK))
                .until(() -> pttl(replica, key) > LEASE.minus(SLACK).toMillis());
        System.out.println("Renewed on the new master after " + (System.nanoTime() - began) / 1_000_000 + " ms");
        await().pollInSameThread().during(LEASE).atMost(LEASE.plus(SLACK)).until(lock::isHeldByCurrentThread);
        awaitQueued(replica, 1);
        lock.unlock();
        assertThat(List.of(first.get(5, TimeUnit.SECONDS), second.get(5, TimeUnit.SECONDS)))
                .doesNotHaveDuplicates()
                .allMatch(later -> later > token);
        assertThat(losses).isEmpty();
    }

    @Test
    void masterDies_holdThatDidNotReachTheReplica_isTaken_andTokensGrow() {
        RedisLocks locks = connect();
        RedisServer old = servers.masterOf(key);
        RedisServer replica = servers.replicaOf(old);
        replica.pause();
        try (Jedis jedis = old.client()) {
            jedis.clientKill(new ClientKillParams().type(ClientType.REPLICA));
        }
        RedisReentrantLock lock = locks.reentrantLock(name);
        fixed(lock, Duration.ofMinutes(1)).lock();
        long token = lock.fencingToken();
        old.kill();
        replica.resume();
        servers.awaitPromoted(replica);
        long began = System.nanoTime();
        await().atMost(RENEWAL.plus(SLACK)).until(() -> losses.size() == 1);
        System.out.println("Told after " + (System.nanoTime() - began) / 1_000_000 + " ms");
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        RedisReentrantLock next = connect().reentrantLock(name);
        next.lock();
        assertThat(next.fencingToken()).isGreaterThan(token);
        next.unlock();
    }

    @Test
    void masterDies_releaseThatDidNotReachTheReplica_isSaidAgain() throws InterruptedException {
        RedisReentrantLock next = connect().reentrantLock(name);
        RedisReentrantLock lock = connect().reentrantLock(name);
        fixed(lock, Duration.ofMinutes(1)).lock();
        RedisServer old = servers.masterOf(key);
        RedisServer replica = servers.replicaOf(old);
        await().until(() -> exists(replica, key));
        replica.pause();
        try (Jedis jedis = old.client()) {
            jedis.clientKill(new ClientKillParams().type(ClientType.REPLICA));
        }
        lock.unlock();
        old.kill();
        replica.resume();
        servers.awaitPromoted(replica);
        long began = System.nanoTime();
        await().atMost(Duration.ofSeconds(20)).until(() -> !exists(replica, key));
        System.out.println("Freed on the new master after " + (System.nanoTime() - began) / 1_000_000 + " ms");
        assertThat(next.tryLock(10, TimeUnit.SECONDS)).isTrue();
        assertThat(next.previousHolderLost()).isFalse();
        next.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void masterHangs_locksOfTheOthers_areRenewedAndHad_andItsOwnGoOnOnTheNewOne() throws Exception {
        // The lease ends before another master is there, and not by a stall of the machine.
        Duration shortLease = Duration.ofMillis(1_200);
        RedisLocks locks = connect(shortLease);
        RedisReentrantLock long9s = connect().reentrantLock(name);
        long9s.lock();
        RedisServer hangs = servers.masterOf(key);
        RedisServer replica = servers.replicaOf(hangs);
        await().until(() -> exists(replica, key));
        Future<Long> waiter = lockElsewhere(connect().reentrantLock(name));
        awaitQueued(hangs, 1);
        // The renewals of this hold go to the server that hangs, and must not be waited for.
        RedisReentrantLock lost = locks.reentrantLock(nameOn(hangs));
        lost.lock();
        List<RedisReentrantLock> held = new ArrayList<>();
        List<RedisReentrantLock> tried = new ArrayList<>();
        for (RedisServer master : servers.masters()) {
            if (master != hangs) {
                held.add(locks.reentrantLock(nameOn(master)));
                tried.add(locks.reentrantLock(nameOn(master)));
            }
        }
        held.forEach(RedisReentrantLock::lock);
        hangs.pause();
        Duration longest = Duration.ZERO;
        long until = System.nanoTime() + Duration.ofSeconds(4).toNanos();
        while (System.nanoTime() < until) {
            for (RedisReentrantLock lock : tried) {
                long began = System.nanoTime();
                assertThat(lock.tryLock()).isTrue();
                lock.unlock();
                Duration took = Duration.ofNanos(System.nanoTime() - began);
                longest = took.compareTo(longest) > 0 ? took : longest;
            }
            assertThat(held).allMatch(RedisReentrantLock::isHeldByCurrentThread);
        }
        System.out.println("A try and its unlock on another master took at most " + longest.toMillis() + " ms");
        servers.awaitPromoted(replica);
        assertThat(losses).extracting(LockLost::lockName).containsExactly(lost.getName());
        assertThat(long9s.isHeldByCurrentThread()).isTrue();
        long9s.unlock();
        assertThat(waiter.get(5, TimeUnit.SECONDS)).isPositive();
        hangs.resume();
        servers.awaitStable();
        locks.reentrantLock(nameOn(replica)).runWithLock(() -> {});
        held.forEach(RedisReentrantLock::unlock);
    }

    @Test
    void failoverByHand_calls_goToTheNewMaster() {
        RedisReentrantLock lock = connect().reentrantLock(name);
        lock.lock();
        RedisServer old = servers.masterOf(key);
        RedisServer replica = servers.replicaOf(old);
        servers.failover(replica);
        await().atMost(Duration.ofSeconds(2))
                .until(() -> pttl(replica, key) > LEASE.minus(SLACK).toMillis());
        lock.unlock();
        assertThat(pttl(replica, key)).isEqualTo(-2);
        assertThat(losses).isEmpty();
    }

    @Test
    void nodeOfTheSubscriptionDies_waiters_areStillTold() throws Exception {
        RedisLocks here = connect();
        RedisReentrantLock lock = here.reentrantLock(name);
        RedisLocks there = connect();
        RedisServer master = servers.masterOf(key);
        lock.lock();
        Future<Long> first = lockElsewhere(there.reentrantLock(name));
        awaitQueued(master, 1);
        RedisServer listens = servers.servers().stream()
                .filter(RedisServer::isRunning)
                .filter(ClusterTest::hasSubscription)
                .findFirst()
                .orElseThrow();
        try (Jedis jedis = listens.client()) {
            jedis.clientKill(new ClientKillParams().type(ClientType.PUBSUB));
        }
        await().until(() ->
                servers.servers().stream().anyMatch(server -> server != listens && hasSubscription(server)));
        lock.unlock();
        assertThat(first.get(1, TimeUnit.SECONDS)).isPositive();
    }

    /** Each node hears of each message: that is what a hand-off between two clients costs besides two requests. */
    @Test
    void handOffs_messagesBetweenNodes_areOneForEachOtherNode() throws Exception {
        List<RedisReentrantLock> locks = List.of(
                connect().reentrantLock(name, LockOptions.defaults().fair(true)),
                connect().reentrantLock(name, LockOptions.defaults().fair(true)));
        AtomicInteger done = new AtomicInteger();
        AtomicBoolean stop = new AtomicBoolean();
        List<Future<Boolean>> users = new ArrayList<>();
        // Read while nobody works: the two are of different servers, and do not stand still together.
        long told = sum("commandstats", "cmdstat_publish:calls=");
        long sent = sum("", "cluster_stats_messages_publish_sent:");
        for (RedisReentrantLock lock : locks) {
            users.add(threads.submit(() -> {
                while (!stop.get()) {
                    lock.lock();
                    done.incrementAndGet();
                    lock.unlock();
                }
                return true;
            }));
        }
        await().until(() -> done.get() > 2_000);
        stop.set(true);
        for (Future<Boolean> user : users) {
            assertThat(user.get(5, TimeUnit.SECONDS)).isTrue();
        }
        double messages = sum("", "cluster_stats_messages_publish_sent:") - sent;
        double publishes = sum("commandstats", "cmdstat_publish:calls=") - told;
        System.out.printf(
                "%.2f messages between nodes per acquisition, %.2f per message to a mailbox%n",
                messages / done.get(), messages / publishes);
        assertThat(messages / publishes).isBetween(4.9, 5.1);
    }

    /** A figure of all nodes together: of a section of INFO, or of CLUSTER INFO. */
    private static long sum(String section, String field) {
        long sum = 0;
        for (RedisServer server : servers.servers()) {
            try (Jedis jedis = server.client()) {
                String info = section.isEmpty() ? jedis.clusterInfo() : jedis.info(section);
                sum += info.lines()
                        .filter(line -> line.startsWith(field))
                        .mapToLong(line ->
                                Long.parseLong(line.substring(field.length()).replaceAll("\\D.*", "")))
                        .sum();
            }
        }
        return sum;
    }

    private static boolean hasSubscription(RedisServer server) {
        try (Jedis jedis = server.client()) {
            return !jedis.pubsubChannels("redis-locks:mailbox:*").isEmpty();
        }
    }

    @Test
    void connect_whereNothingAnswers_failsInTimeAndSaysWhy() {
        servers.servers().forEach(RedisServer::pause);
        long began = System.nanoTime();
        assertThatThrownBy(this::connect)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("No node of the cluster names the master: "
                        + servers.addresses().get(0));
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofMillis(700));
    }

    @Test
    void builder_whereAUriCannotSayIt_connectsToo() {
        try (RedisLocks locks = RedisLocks.builder()
                .servers(JedisServers.cluster(
                        List.of(servers.addresses().get(5)),
                        DefaultJedisClientConfig.builder().resp3().build()))
                .build()) {
            locks.reentrantLock(name).runWithLock(() -> {});
        }
    }
}
