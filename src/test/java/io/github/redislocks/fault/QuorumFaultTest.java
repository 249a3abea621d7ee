package io.github.redislocks.fault;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisOutage;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.QuorumServers;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Five real masters, A to E, some of which are killed, frozen and restarted. */
@Tag("once")
@Timeout(60)
@Tag("server")
class QuorumFaultTest {

    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final Duration SOON = Duration.ofSeconds(15);
    private static final String KEY = "redis-locks:quorum:{job}";

    private final QuorumServers masters = QuorumServers.start(5);
    private final List<RedisLocks> clients = new ArrayList<>();
    private final List<LockLost> losses = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        clients.forEach(RedisLocks::close);
        masters.close();
    }

    private RedisReentrantLock connect(Duration restartDelay) {
        RedisLocks locks = RedisLocks.builder()
                .quorum(masters.uris())
                .lease(LEASE)
                .restartDelay(restartDelay)
                .retryFor(Duration.ofSeconds(1))
                .onLockLost(losses::add)
                .build();
        clients.add(locks);
        return locks.reentrantLock("job");
    }

    private String votes() {
        StringBuilder names = new StringBuilder();
        for (int i = 0; i < masters.size(); i++) {
            if (masters.get(i).isRunning()) {
                try (Jedis jedis = masters.get(i).client()) {
                    names.append(jedis.exists(KEY) ? (char) ('A' + i) : "");
                }
            }
        }
        return names.toString();
    }

    @Test
    void kill_ofAMinority_changesNothingForCallers() {
        RedisReentrantLock lock = connect(Duration.ZERO);
        lock.lock();
        masters.get(0).kill();
        masters.get(1).kill();
        for (int i = 0; i < 50; i++) {
            lock.lock();
            lock.unlock();
        }
        lock.unlock();
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void kill_ofAMajority_isReportedWithTheReasons() {
        RedisReentrantLock lock = connect(Duration.ZERO);
        for (int i = 0; i < 3; i++) {
            masters.get(i).kill();
        }
        assertThatThrownBy(lock::lock)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("needs 3 of 5 masters")
                .hasMessageContaining(masters.get(0).address().toString());
    }

    @Test
    void freeze_ofAMinority_delaysNobodyAndLeavesNothing() {
        RedisReentrantLock lock = connect(Duration.ZERO);
        masters.get(3).pause();
        masters.get(4).pause();
        lock.lock();
        long until = System.nanoTime() + 2 * LEASE.toNanos();
        await().atMost(SOON).until(() -> System.nanoTime() > until);
        assertThat(lock.isHeldByCurrentThread()).as("a majority renews it").isTrue();
        assertThat(losses).isEmpty();
        lock.unlock();
        masters.get(3).resume();
        masters.get(4).resume();
        await().atMost(SOON).until(() -> votes().isEmpty());
        assertThat(connect(Duration.ZERO).tryLock()).isTrue();
    }

    @Test
    void tryLock_frozenMajority_returnsInTime() {
        RedisReentrantLock lock = connect(Duration.ZERO);
        for (int i = 0; i < 3; i++) {
            masters.get(i).pause();
        }
        long began = System.nanoTime();
        assertThatThrownBy(() -> lock.tryLock(500, TimeUnit.MILLISECONDS)).isInstanceOf(LockUnavailableException.class);
        assertThat(Duration.ofNanos(System.nanoTime() - began))
                .isBetween(Duration.ofMillis(500), Duration.ofSeconds(2));
        for (int i = 0; i < 3; i++) {
            masters.get(i).resume();
        }
        await().atMost(SOON).until(() -> votes().isEmpty());
    }

    /** A try that gives up withdraws votes that it never got. Masters that have not answered are not asked for that. */
    private void assertOutageIsTold(Runnable fault) throws InterruptedException {
        List<RedisOutage> began = new CopyOnWriteArrayList<>();
        List<RedisOutage> ended = new CopyOnWriteArrayList<>();
        RedisLocks locks = RedisLocks.builder()
                .quorum(masters.uris())
                .lease(LEASE)
                .restartDelay(Duration.ZERO)
                .retryFor(Duration.ofSeconds(3))
                .listener(new LockListener() {
                    @Override
                    public void outageBegan(RedisOutage outage) {
                        began.add(outage);
                    }

                    @Override
                    public void outageEnded(RedisOutage outage) {
                        ended.add(outage);
                    }
                })
                .build();
        clients.add(locks);
        RedisReentrantLock lock = locks.reentrantLock("job");
        lock.lock();
        lock.unlock();
        fault.run();
        AtomicBoolean over = new AtomicBoolean();
        AtomicInteger falses = new AtomicInteger();
        List<Thread> tries = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            RedisReentrantLock other = locks.reentrantLock("tried-" + i);
            Thread thread = new Thread(() -> {
                while (!over.get()) {
                    try {
                        falses.addAndGet(other.tryLock(150, TimeUnit.MILLISECONDS) ? 0 : 1);
                    } catch (LockUnavailableException expected) {
                        // The promised answer without a majority.
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            });
            thread.start();
            tries.add(thread);
        }
        try {
            long start = System.nanoTime();
            assertThatThrownBy(lock::lock).isInstanceOf(LockUnavailableException.class);
            assertThat(Duration.ofNanos(System.nanoTime() - start))
                    .isBetween(Duration.ofSeconds(2), Duration.ofSeconds(12));
        } finally {
            over.set(true);
            for (Thread thread : tries) {
                thread.join();
            }
        }
        assertThat(falses).as("tries that found the lock busy").hasValue(0);
        await().atMost(SOON).untilAsserted(() -> assertThat(began).hasSize(1));
        assertThat(ended).isEmpty();
    }

    @Test
    void tries_allMastersDead_reportOneOutage_andLockFailsAfterRetryFor() throws InterruptedException {
        assertOutageIsTold(() -> {
            for (int i = 0; i < masters.size(); i++) {
                masters.get(i).kill();
            }
        });
    }

    @Test
    void tries_majorityHangs_reportOneOutage_andLockFailsAfterRetryFor() throws InterruptedException {
        assertOutageIsTold(() -> {
            for (int i = 0; i < 3; i++) {
                masters.get(i).pause();
            }
        });
    }

    /** The first client holds A, B and C. D and E were frozen, and read the requests too late. */
    private RedisReentrantLock holderOfAbc(Duration restartDelay) {
        RedisReentrantLock lock = connect(restartDelay);
        masters.get(3).pause();
        masters.get(4).pause();
        fixed(lock, LEASE).lock();
        long tooLate = System.nanoTime() + LEASE.dividedBy(5).toNanos();
        await().atMost(SOON).until(() -> System.nanoTime() > tooLate);
        masters.get(3).resume();
        masters.get(4).resume();
        return lock;
    }

    private void full(boolean value) {
        for (int i = 0; i < masters.size(); i++) {
            try (Jedis jedis = masters.get(i).client()) {
                jedis.configSet("maxmemory", value ? "1" : "0");
            }
        }
    }

    private List<String> holds() {
        List<String> holds = new ArrayList<>();
        for (int i = 0; i < masters.size(); i++) {
            try (Jedis jedis = masters.get(i).client()) {
                holds.add(jedis.hget(KEY, "holds"));
            }
        }
        return holds;
    }

    @Test
    void full_allMasters_holderKeepsTheLockAndNobodyElseGetsIt() {
        RedisReentrantLock lock = connect(Duration.ZERO);
        lock.lock();
        await().atMost(SOON).until(() -> votes().equals("ABCDE"));
        full(true);
        lock.lock();
        await().atMost(SOON).untilAsserted(() -> assertThat(holds()).containsOnly("2"));
        long until = System.nanoTime() + LEASE.plusMillis(500).toNanos();
        await().atMost(SOON).until(() -> System.nanoTime() > until);
        assertThat(lock.isHeldByCurrentThread()).as("renewed").isTrue();
        assertThatThrownBy(clients.get(0).reentrantLock("another job")::lockInterruptibly)
                .as("refused for retryFor, though renewals are answered")
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("OOM");
        lock.unlock();
        await().atMost(SOON).untilAsserted(() -> assertThat(holds()).containsOnly("1"));
        lock.unlock();
        await().atMost(SOON).until(() -> votes().isEmpty());
        assertThat(losses).isEmpty();
        full(false);
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.previousHolderLost()).isFalse();
    }

    private void awaitOld(Duration age) {
        await().atMost(SOON).until(() -> {
            for (int i = 0; i < masters.size(); i++) {
                try (Jedis jedis = masters.get(i).client()) {
                    long seconds =
                            Long.parseLong(jedis.info("server").replaceAll("(?s).*uptime_in_seconds:(\\d+).*", "$1"));
                    if (seconds <= age.toSeconds()) {
                        return false;
                    }
                }
            }
            return true;
        });
    }

    @Test
    void restart_withoutData_withDelay_thirdMasterGivesNoVote() {
        awaitOld(LEASE);
        RedisReentrantLock first = holderOfAbc(LEASE);
        RedisReentrantLock second = connect(LEASE);
        masters.get(2).restart();
        assertThat(second.tryLock()).isFalse();
        assertThat(first.isHeldByCurrentThread()).isTrue();
        first.unlock();
        assertThat(second.tryLock()).isTrue();
    }

    /** On the connections to masters that are asked often, callers write themselves, and name no run id. */
    @Test
    void restart_withoutData_ofAMasterToWhichCallersWriteThemselves_givesNoVote() {
        awaitOld(LEASE);
        RedisReentrantLock second = connect(LEASE);
        RedisReentrantLock busy = clients.get(0).reentrantLock("busy");
        for (int i = 0; i < 100; i++) {
            busy.lock();
            busy.unlock();
        }
        RedisReentrantLock first = holderOfAbc(LEASE);
        busy.lock();
        busy.unlock();
        masters.get(2).restart();
        boolean taken = false;
        while (!taken && first.isHeldByCurrentThread()) {
            try {
                taken = second.tryLock();
            } catch (LockUnavailableException tooFewAnswer) {
                // No majority: others hold the lock or are slow.
            }
        }
        assertThat(taken && first.isHeldByCurrentThread()).as("two hold it").isFalse();
    }

    @Test
    void restart_withoutData_withoutDelay_twoHoldIt() {
        RedisReentrantLock first = holderOfAbc(Duration.ZERO);
        RedisReentrantLock second = connect(Duration.ZERO);
        masters.get(2).restart();
        await().atMost(SOON).until(() -> votes().equals("AB"));
        assertThat(second.tryLock()).isTrue();
        assertThat(first.isHeldByCurrentThread()).as("both hold it").isTrue();
        assertThat(second.fencingToken()).as("the resource can tell").isGreaterThan(first.fencingToken());
    }

    @Test
    void connect_freshMasters_waitsForTheirVotesLongerThanForAnOutage() {
        RedisReentrantLock lock = connect(LEASE.multipliedBy(3));
        assertThatThrownBy(() -> lock.tryLock(100, TimeUnit.MILLISECONDS))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("has just started, and gives no vote for another");
        lock.lock();
        lock.unlock();
    }

    @Test
    void connect_oneServerByTwoNames_isRefused() {
        String port = ":" + masters.get(0).port();
        assertThatThrownBy(() -> RedisLocks.quorum(
                        "redis://127.0.0.1" + port,
                        "redis://localhost" + port,
                        masters.get(1).uri()))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("is the same server as");
    }

    @Test
    void connect_replicaAmongThem_isRefused() {
        try (RedisServer replica = RedisServer.start(
                "--replicaof", "127.0.0.1", Integer.toString(masters.get(0).port()))) {
            assertThatThrownBy(() -> RedisLocks.quorum(
                            masters.get(0).uri(), masters.get(1).uri(), replica.uri()))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("is a replica");
        }
    }

    @Test
    void connect_mastersOfOlderVersions_serveTogether() {
        try (RedisServer older = RedisServer.start(RedisServer.Version.V6_2);
                RedisServer old = RedisServer.start(RedisServer.Version.V6_2);
                RedisLocks locks = RedisLocks.builder()
                        .quorum(older.uri(), old.uri(), masters.get(0).uri())
                        .restartDelay(Duration.ZERO)
                        .build()) {
            masters.get(0).kill();
            RedisReentrantLock lock = locks.reentrantLock("job");
            lock.lock();
            lock.lock();
            assertThat(locks.inspect("job").holder().orElseThrow().holds()).isEqualTo(2);
            lock.unlock();
            lock.unlock();
        }
    }
}
