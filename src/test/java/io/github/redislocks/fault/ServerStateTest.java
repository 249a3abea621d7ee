package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.CommandCount;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.KnownScripts;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** A server that is full, forbids messages, forgets, or goes deaf on one connection. */
@Tag("once")
@Timeout(60)
@Tag("server")
class ServerStateTest {

    private static final String KEY = "redis-locks:{job}";

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<LockLost> losses = new CopyOnWriteArrayList<>();
    private RedisServer server;
    private Jedis jedis;
    private RedisLocks locks;
    private RedisLocks others;
    private RedisReentrantLock lock;
    private RedisReentrantLock other;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        jedis = server.client();
        locks = client(server.uri());
        others = client(server.uri());
        lock = locks.reentrantLock("job");
        other = others.reentrantLock("job");
    }

    private RedisLocks client(String uri) {
        return RedisLocks.builder()
                .uri(uri)
                .lease(Duration.ofMillis(1_200))
                .commandTimeout(Duration.ofMillis(300))
                .onLockLost(losses::add)
                .build();
    }

    @AfterEach
    void stop() {
        full(false);
        threads.shutdownNow();
        locks.close();
        others.close();
        jedis.close();
        server.close();
    }

    private void full(boolean value) {
        jedis.configSet("maxmemory", value ? "1" : "0");
    }

    /** Locks in another thread; what it then does, and unlocks. */
    private <T> Future<T> locking(RedisReentrantLock which, Callable<T> inside) {
        return threads.submit(() -> {
            which.lock();
            try {
                return inside.call();
            } finally {
                which.unlock();
            }
        });
    }

    @Test
    void takesNoMoreClients_holdIsRenewed() {
        lock.lock();
        jedis.configSet("maxclients", "1");
        await().pollInSameThread()
                .during(Duration.ofMillis(1_500))
                .atMost(Duration.ofSeconds(3))
                .until(() -> lock.isHeldByCurrentThread() && jedis.pttl(KEY) > 200);
        lock.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void full_holderReentersRenewsAndReleases() {
        lock.lock();
        full(true);
        lock.lock();
        assertThat(jedis.hget(KEY, "holds")).isEqualTo("2");
        await().pollInSameThread()
                .during(Duration.ofMillis(2_500))
                .atMost(Duration.ofSeconds(4))
                .until(() -> lock.isHeldByCurrentThread() && jedis.pttl(KEY) > 200);
        lock.unlock();
        assertThat(jedis.hget(KEY, "holds")).isEqualTo("1");
        lock.unlock();
        assertThat(jedis.exists(KEY)).isFalse();
        assertThat(jedis.get(KEY + ":fence")).endsWith("+");
        assertThat(losses).isEmpty();
    }

    @Test
    void full_releaseServesWaitersOfBothClients() throws Exception {
        // Without a mailbox, which opens at the first contention, the local thread would ask as a newcomer.
        other.lock();
        assertThat(lock.tryLock(50, TimeUnit.MILLISECONDS)).isFalse();
        other.unlock();
        lock.lock();
        Future<Boolean> remote = locking(other, other::previousHolderLost);
        await().until(() -> jedis.zcard(KEY + ":queue") == 1);
        Future<Boolean> local = locking(lock, lock::previousHolderLost);
        await().until(() -> lock.getQueueLength() == 1);
        full(true);
        lock.unlock();
        assertThat(remote.get(5, TimeUnit.SECONDS)).isFalse();
        assertThat(local.get(5, TimeUnit.SECONDS)).isFalse();
        assertThat(jedis.exists(KEY)).isFalse();
        assertThat(losses).isEmpty();
    }

    @Test
    void full_waiterThatGivesUp_leavesNothing() throws Exception {
        lock.lock();
        Future<Boolean> waiting = threads.submit(() -> other.tryLock(1_000, TimeUnit.MILLISECONDS));
        await().until(() -> jedis.zcard(KEY + ":queue") == 1);
        full(true);
        assertThat(waiting.get(5, TimeUnit.SECONDS)).isFalse();
        // A refused heartbeat counts as an outage, so that the leave is sent in the background.
        await().atMost(Duration.ofSeconds(1)).until(() -> !jedis.exists(KEY + ":queue"));
        assertThat(jedis.exists(KEY + ":waiters")).isFalse();
        lock.unlock();
    }

    @Test
    void full_acquire_isRefusedAndSaysWhy_untilThereIsRoom() throws Exception {
        full(true);
        assertThatThrownBy(lock::tryLock)
                .isInstanceOfSatisfying(
                        LockUnavailableException.class,
                        e -> assertThat(e.holdMayExist()).isFalse())
                .hasMessageContaining("OOM");
        assertThat(jedis.keys("*")).isEmpty();
        Future<Boolean> later = locking(lock, lock::isHeldByCurrentThread);
        await().during(Duration.ofMillis(500)).until(() -> !later.isDone());
        full(false);
        assertThat(later.get(5, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void publishForbidden_releaseIsDoneAndTheWaiterFindsItsGrant() throws Exception {
        jedis.aclSetUser("mute", "on", ">secret", "~*", "resetchannels", "+@all");
        try (RedisLocks mute = client(server.uri().replace("//", "//mute:secret@"))) {
            RedisReentrantLock silent = mute.reentrantLock("job");
            silent.lock();
            Future<Boolean> lost = locking(other, other::previousHolderLost);
            await().until(() -> jedis.zcard(KEY + ":queue") == 1);
            String waiter = jedis.zrange(KEY + ":queue", 0, 0).get(0);
            silent.unlock();
            assertThat(waiter).as("granted at once").startsWith(jedis.hget(KEY, "owner") + ":");
            assertThat(lost.get(5, TimeUnit.SECONDS)).isFalse();
        }
        assertThat(losses).isEmpty();
    }

    @Test
    void serverForgets_tokensGrowOn() {
        long last = 0;
        List<Runnable> events =
                List.of(() -> {}, jedis::flushAll, jedis::scriptFlush, server::restart, this::reconnect, () -> {});
        for (Runnable event : events) {
            event.run();
            lock.lock();
            assertThat(lock.fencingToken()).isGreaterThan(last);
            last = lock.fencingToken();
            assertThat(lock.previousHolderLost()).isFalse();
            lock.unlock();
        }
        assertThat(losses).isEmpty();
    }

    private void reconnect() {
        jedis.close();
        jedis = server.client();
    }

    private List<String> subscriberIds() {
        return jedis.clientList()
                .lines()
                .filter(line -> !line.contains(" sub=0 "))
                .map(line -> line.substring(line.indexOf("id="), line.indexOf(' ')))
                .collect(Collectors.toList());
    }

    @Test
    void subscriptionDeaf_isMadeAnewAndMessagesComeAgain() throws Exception {
        try (FaultyProxy proxy = FaultyProxy.to(server);
                RedisLocks behind = RedisLocks.builder()
                        .uri(proxy.uri())
                        .commandTimeout(Duration.ofMillis(300))
                        .build()) {
            RedisReentrantLock far = behind.reentrantLock("job");
            other.lock();
            Future<Long> served = locking(far, System::nanoTime);
            await().until(() -> jedis.zcard(KEY + ":queue") == 1);
            String place = jedis.zrange(KEY + ":queue", 0, -1).get(0);
            String mailbox = "redis-locks:mailbox:" + place.replaceFirst(":[^:]*:[^:]*$", "");
            List<String> before = subscriberIds();
            assertThat(before).hasSize(1);
            // The proxy lets a connection that has lost a byte never speak again, and nobody is told.
            proxy.dropReplies();
            jedis.publish(mailbox, "");
            await().until(() -> proxy.lostReplyBytes() > 0);
            proxy.pass();
            await().atMost(Duration.ofSeconds(8)).until(() -> {
                List<String> now = subscriberIds();
                return now.size() == 1 && !now.equals(before);
            });
            long released = System.nanoTime();
            other.unlock();
            assertThat(served.get(10, TimeUnit.SECONDS) - released).isLessThan(1_000_000_000);
        }
    }

    @Test
    void twoClientsOfManyThreads_eachGetTheirShareForOneRequestEach() throws Exception {
        CommandCount commands = CommandCount.on(server);
        AtomicBoolean stop = new AtomicBoolean();
        AtomicLong[] counts = {new AtomicLong(), new AtomicLong()};
        List<RedisReentrantLock> both = List.of(lock, other);
        List<Future<?>> all = new CopyOnWriteArrayList<>();
        for (int c = 0; c < 2; c++) {
            AtomicLong count = counts[c];
            RedisReentrantLock mine = both.get(c);
            for (int t = 0; t < 4; t++) {
                all.add(threads.submit(() -> {
                    while (!stop.get()) {
                        mine.lock();
                        count.incrementAndGet();
                        mine.unlock();
                    }
                }));
            }
        }
        await().atMost(Duration.ofSeconds(20)).until(() -> counts[0].get() + counts[1].get() > 2_000);
        stop.set(true);
        for (Future<?> one : all) {
            one.get(10, TimeUnit.SECONDS);
        }
        long total = counts[0].get() + counts[1].get();
        assertThat(counts[0].get()).isBetween(total / 5, total * 4 / 5);
        // The release brings the lock to the next, and its thread's own next turn into the line.
        assertThat(commands.of("evalsha")).isLessThan(total * 5 / 4);
        commands.close();
    }

    @Test
    void serverAway_waitersAtTheGateAreToldToo() throws Exception {
        try (RedisLocks brief = RedisLocks.builder()
                .uri(server.uri())
                .retryFor(Duration.ofSeconds(2))
                .commandTimeout(Duration.ofMillis(300))
                .build()) {
            RedisReentrantLock mine = brief.reentrantLock("job");
            other.lock();
            List<Future<Boolean>> waiters =
                    List.of(locking(mine, () -> true), locking(mine, () -> true), locking(mine, () -> true));
            await().until(() -> jedis.zcard(KEY + ":queue") == 1 && mine.getQueueLength() == 3);
            server.pause();
            for (Future<Boolean> waiter : waiters) {
                assertThatThrownBy(() -> waiter.get(8, TimeUnit.SECONDS))
                        .hasCauseInstanceOf(LockUnavailableException.class);
            }
            server.resume();
        }
    }

    @Test
    void serverHangs_allWhoWantTheLockAreToldAtOnce() throws Exception {
        try (RedisLocks brief = RedisLocks.builder()
                .uri(server.uri())
                .retryFor(Duration.ofSeconds(1))
                .commandTimeout(Duration.ofMillis(300))
                .build()) {
            RedisReentrantLock mine = brief.reentrantLock("job");
            server.pause();
            long began = System.nanoTime();
            List<Future<Boolean>> callers = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                callers.add(locking(mine, () -> true));
            }
            for (Future<Boolean> caller : callers) {
                assertThatThrownBy(() -> caller.get(20, TimeUnit.SECONDS))
                        .hasCauseInstanceOf(LockUnavailableException.class);
            }
            assertThat(Duration.ofNanos(System.nanoTime() - began))
                    .as("the threads do not ask one after another")
                    .isLessThan(Duration.ofSeconds(3));
            server.resume();
        }
    }

    @Test
    void rightsTaken_lockSaysSoAtOnce() {
        jedis.aclSetUser("clerk", "on", ">secret", "~*", "&*", "+@all");
        try (RedisLocks clerk = client(server.uri().replace("//", "//clerk:secret@"))) {
            RedisReentrantLock mine = clerk.reentrantLock("job");
            jedis.aclSetUser("clerk", "-evalsha", "-eval");
            long began = System.nanoTime();
            assertThatThrownBy(mine::lock)
                    .isInstanceOf(LockUnavailableException.class)
                    .hasFieldOrPropertyWithValue("reason", LockUnavailableException.Reason.REFUSED)
                    .hasMessageContaining("NOPERM");
            assertThat(System.nanoTime() - began).isLessThan(2_000_000_000);
        }
    }

    @Test
    void release_whoseConnectionBreaksAfterItRan_isNoLoss() throws Exception {
        try (FaultyProxy proxy = FaultyProxy.to(server);
                RedisLocks behind = RedisLocks.builder()
                        .uri(proxy.uri())
                        .onLockLost(losses::add)
                        .build()) {
            RedisReentrantLock far = behind.reentrantLock("job");
            KnownScripts.teach(jedis);
            far.lock();
            proxy.dropReplies();
            Future<?> breaking = threads.submit(() -> {
                await().pollInterval(Duration.ofMillis(5)).until(() -> !jedis.exists(KEY));
                proxy.pass();
                proxy.cut();
            });
            // Sent once more, on a new connection, it finds nothing: its first run has done it.
            far.unlock();
            breaking.get(5, TimeUnit.SECONDS);
            assertThat(far.isHeldByCurrentThread()).isFalse();
        }
        assertThat(losses).isEmpty();
    }
}
