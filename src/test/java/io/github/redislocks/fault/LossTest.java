package io.github.redislocks.fault;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.DeniedTime;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Tests what a holder learns when its hold ends without its unlock, on a real server. */
@Timeout(60)
@Tag("server")
class LossTest {

    private static final Duration LEASE = Duration.ofMillis(900);

    private final List<LockLost> losses = new CopyOnWriteArrayList<>();
    private RedisServer server;
    private Jedis jedis;
    private RedisLocks locks;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        jedis = server.client();
        locks = client();
    }

    private RedisLocks client() {
        return RedisLocks.builder()
                .uri(server.uri())
                .lease(LEASE)
                .retryFor(Duration.ofMillis(1_500))
                .commandTimeout(Duration.ofMillis(300))
                .connectWithin(Duration.ofSeconds(10))
                .onLockLost(losses::add)
                .build();
    }

    @AfterEach
    void stop() {
        locks.close();
        jedis.close();
        server.close();
    }

    @Test
    void renewal_keepsAHoldThatOutlivesItsLease() {
        RedisReentrantLock lock = locks.reentrantLock("job");
        lock.lock();
        await().pollInSameThread()
                .during(LEASE.multipliedBy(3))
                .atMost(LEASE.multipliedBy(4))
                .until(() -> lock.isHeldByCurrentThread() && jedis.pttl("redis-locks:{job}") > 200);
        assertThat(losses).isEmpty();
        lock.unlock();
    }

    @Test
    void keyDeleted_isTakenByTheNextRenewal_andNotMadeAnew() {
        RedisReentrantLock lock = locks.reentrantLock("job");
        lock.lock();
        long token = lock.fencingToken();
        jedis.del("redis-locks:{job}");
        await().atMost(LEASE).until(() -> !losses.isEmpty());
        assertThat(losses)
                .containsExactly(LockLost.of(
                        "job", token, "thread " + Thread.currentThread().getName(), LockLost.Reason.TAKEN));
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(lock.getHoldCount()).isZero();
        assertThatThrownBy(lock::ensureHeld).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock)
                .isInstanceOfSatisfying(
                        LockLostException.class, e -> assertThat(e.reason()).isEqualTo(LockLost.Reason.TAKEN));
        assertThatThrownBy(lock::unlock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .isNotInstanceOf(LockLostException.class);
        await().during(LEASE).atMost(LEASE.multipliedBy(2)).until(() -> !jedis.exists("redis-locks:{job}"));
    }

    @Test
    void keyDeleted_unlockFindsIt() {
        RedisReentrantLock lock = locks.reentrantLock("job");
        lock.lock();
        jedis.del("redis-locks:{job}");
        assertThatThrownBy(lock::unlock)
                .isInstanceOfSatisfying(
                        LockLostException.class, e -> assertThat(e.reason()).isEqualTo(LockLost.Reason.TAKEN));
        await().until(() -> losses.size() == 1);
    }

    @Test
    void serverHangs_isUnconfirmedBeforeItsLeaseEnds() {
        RedisReentrantLock lock = locks.reentrantLock("job");
        lock.lock();
        long locked = System.nanoTime();
        server.pause();
        await().pollInSameThread()
                .pollInterval(Duration.ofMillis(1))
                .atMost(Duration.ofSeconds(3))
                .until(() -> !lock.isHeldByCurrentThread());
        // The lease counts from the last renewal, which came after the lock.
        assertThat(System.nanoTime() - locked)
                .isLessThan(LEASE.multipliedBy(4).dividedBy(3).toNanos());
        await().atMost(Duration.ofMillis(200)).until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
        server.resume();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThat(losses).hasSize(1);
    }

    @Test
    void ownerThreadDies_isAbandonedAndReleased() throws InterruptedException {
        RedisReentrantLock lock = locks.reentrantLock("job");
        Thread owner = new Thread(lock::lock, "short-lived");
        owner.start();
        owner.join();
        await().atMost(LEASE).until(() -> !losses.isEmpty());
        assertThat(losses).singleElement().satisfies(loss -> {
            assertThat(loss.reason()).isEqualTo(LockLost.Reason.ABANDONED);
            assertThat(loss.owner()).isEqualTo("thread short-lived");
        });
        await().atMost(Duration.ofMillis(500)).until(lock::tryLock);
    }

    @Test
    void lock_whileRedisIsAway_triesForItsTimeAndSaysSo() {
        RedisReentrantLock lock = locks.reentrantLock("job");
        server.kill();
        long began = System.nanoTime();
        assertThatThrownBy(lock::lock)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("job")
                .hasMessageContaining(String.valueOf(server.port()));
        assertThat(Duration.ofNanos(System.nanoTime() - began))
                .isBetween(Duration.ofMillis(1_500), Duration.ofMillis(2_500));
        server.restart();
        lock.lock();
        lock.unlock();
    }

    @Test
    void tryLock_whileRedisHangs_endsInTimeAndSaysSo() throws InterruptedException {
        RedisReentrantLock lock = locks.reentrantLock("job");
        lock.lock();
        lock.unlock();
        server.pause();
        Duration shortest = Duration.ofDays(1);
        try (DeniedTime time = new DeniedTime()) {
            for (int i = 0; i < 3; i++) {
                long began = System.nanoTime();
                long moment = time.now();
                assertThatThrownBy(() -> lock.tryLock(500, TimeUnit.MILLISECONDS))
                        .isInstanceOf(LockUnavailableException.class);
                // A call that waits for too long does so each time; a machine that stalls, now and then.
                shortest = Collections.min(List.of(shortest, time.since(moment)));
                assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThanOrEqualTo(Duration.ofMillis(500));
            }
        }
        assertThat(shortest).isLessThan(Duration.ofMillis(700));
        server.resume();
        // A request that the server runs late, out of its socket buffers, must not hold the lock.
        assertThat(lock.tryLock(2, TimeUnit.SECONDS)).isTrue();
        lock.unlock();
        await().atMost(Duration.ofMillis(800)).until(() -> !jedis.exists("redis-locks:{job}"));
    }

    @Test
    void unlock_whileRedisHangs_returnsAndIsDoneLater() {
        RedisReentrantLock lock = locks.reentrantLock("job");
        fixed(lock, Duration.ofSeconds(20)).lock();
        server.pause();
        long began = System.nanoTime();
        lock.unlock();
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofMillis(600));
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        server.resume();
        await().atMost(Duration.ofSeconds(2)).until(() -> !jedis.exists("redis-locks:{job}"));
        assertThat(losses).isEmpty();
    }

    @Test
    void unlock_whileRedisHangsPastTheDeadline_throws() {
        RedisReentrantLock lock = locks.reentrantLock("job");
        fixed(lock, Duration.ofMillis(200)).lock();
        server.pause();
        assertThatThrownBy(lock::unlock)
                .isInstanceOfSatisfying(
                        LockLostException.class, e -> assertThat(e.reason()).isEqualTo(LockLost.Reason.UNCONFIRMED));
        await().until(() -> losses.size() == 1);
        server.resume();
    }
}
