package io.github.redislocks.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLostException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServers;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowingConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.integration.leader.AbstractCandidate;
import org.springframework.integration.leader.Candidate;
import org.springframework.integration.leader.Context;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.DistributedLock;

/** The registry for Spring Integration on a real Redis. */
@Timeout(60)
class RedisLocksRegistryTest {

    private static final Duration TTL = Duration.ofSeconds(20);

    private final String key = UUID.randomUUID().toString();
    private final RedisLocks here = RedisLocks.connect(RedisServers.shared().uri());
    private final RedisLocks there = RedisLocks.connect(RedisServers.shared().uri());
    private final RedisLocksRegistry registry = new RedisLocksRegistry(here, "flows");
    private final DistributedLock lock = registry.obtain(key);
    private final DistributedLock remote = new RedisLocksRegistry(there, "flows").obtain(key);

    @AfterEach
    void close() {
        here.close();
        there.close();
    }

    @Test
    void locks_ofOneKey_excludeEachOther() throws Exception {
        lock.lock();
        assertThat(registry.obtain(key).tryLock()).as("re-entry").isTrue();
        lock.unlock();
        assertThat(remote.tryLock()).isFalse();
        assertThat(remote.tryLock(1, TimeUnit.MILLISECONDS)).isFalse();
        lock.unlock();
        remote.lockInterruptibly();
        assertThat(lock.tryLock()).isFalse();
        remote.unlock();
        assertThat(here.reentrantLock("flows:" + key).isLocked()).isFalse();
    }

    @Test
    void timeToLive_isALease() throws Exception {
        lock.lock(Duration.ofSeconds(3));
        assertThat(registry.fencedLock(key).remainingLease()).isBetween(Duration.ofMillis(1), Duration.ofSeconds(3));
        registry.renewLock(key, Duration.ofHours(1));
        assertThat(registry.fencedLock(key).remainingLease()).isGreaterThan(Duration.ofMinutes(30));
        assertThat(registry.fencedLock(key).getHoldCount()).isOne();
        lock.unlock();
        assertThat(lock.tryLock(Duration.ZERO, Duration.ofSeconds(3))).isTrue();
        registry.renewLock(key);
        assertThat(registry.fencedLock(key).remainingLease()).isGreaterThan(Duration.ofSeconds(3));
        lock.unlock();
    }

    @Test
    void renewLock_withoutTheLock_isRefused() {
        assertThatThrownBy(() -> registry.renewLock(key)).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(() -> registry.renewLock(key, Duration.ofSeconds(1)))
                .isInstanceOf(IllegalMonitorStateException.class);
        assertThat(lock.tryLock()).as("not taken by that").isTrue();
        registry.fencedLock(key).forceUnlock();
        assertThatThrownBy(() -> registry.renewLock(key)).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(registry.fencedLock(key).isLocked()).isFalse();
    }

    /** Another has the lock by now: to wait for it would be to wait for that one's work. */
    @Test
    void renewLock_ofALockThatAnotherHas_failsAtOnce() throws Exception {
        CountDownLatch renewed = new CountDownLatch(1);
        try {
            lock.lock();
            there.reentrantLock("flows:" + key).forceUnlock();
            remote.lock();
            List<Throwable> thrown = new CopyOnWriteArrayList<>();
            Thread other = new Thread(() -> {
                // Else the lock would be waited for until the test is over.
                if (!awaits(renewed)) {
                    here.close();
                }
            });
            other.start();
            for (Runnable renewal :
                    List.<Runnable>of(() -> registry.renewLock(key), () -> registry.renewLock(key, TTL))) {
                thrown.add(catchThrowable(renewal::run));
            }
            renewed.countDown();
            other.join();
            assertThat(thrown).hasSize(2).allMatch(LockLostException.class::isInstance);
            assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
            assertThat(there.reentrantLock("flows:" + key).getHoldCount()).isOne();
        } finally {
            renewed.countDown();
        }
    }

    private static boolean awaits(CountDownLatch latch) {
        try {
            return latch.await(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            return false;
        }
    }

    @Test
    void renewLock_ofALockThatWasForced_tellsOfTheLossAndTakesNothing() {
        lock.lock();
        there.reentrantLock("flows:" + key).forceUnlock();
        assertThatThrownBy(() -> registry.renewLock(key)).isInstanceOf(LockLostException.class);
        assertThat(there.reentrantLock("flows:" + key).isLocked()).isFalse();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        lock.lock();
        there.reentrantLock("flows:" + key).forceUnlock();
        assertThatThrownBy(() -> registry.renewLock(key, TTL)).isInstanceOf(LockLostException.class);
        assertThat(there.reentrantLock("flows:" + key).isLocked()).isFalse();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    /** As {@link LockRegistryLeaderInitiator} relies on: a re-entry proves that the outer hold lasts. */
    @ParameterizedTest
    @MethodSource("entries")
    void entry_afterALoss_isRefusedUntilUnlockHasToldIt(ThrowingConsumer<DistributedLock> entry) {
        for (boolean toldBefore : new boolean[] {false, true}) {
            lock.lock();
            there.reentrantLock("flows:" + key).forceUnlock();
            if (toldBefore) {
                assertThatThrownBy(() -> registry.renewLock(key)).isInstanceOf(LockLostException.class);
            }
            assertThatThrownBy(() -> entry.accept(lock)).isInstanceOf(LockLostException.class);
            assertThat(there.reentrantLock("flows:" + key).isLocked()).isFalse();
            assertThatThrownBy(() -> entry.accept(lock)).as("still").isInstanceOf(LockLostException.class);
            assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
            entry.accept(lock);
            assertThat(registry.fencedLock(key).getHoldCount()).isOne();
            lock.unlock();
        }
    }

    /** The ways to enter a lock. */
    static Stream<Named<ThrowingConsumer<DistributedLock>>> entries() {
        return Stream.of(
                Named.of("lock", Lock::lock),
                Named.of("lock with ttl", lock -> lock.lock(TTL)),
                Named.of("lockInterruptibly", Lock::lockInterruptibly),
                Named.of("tryLock", Lock::tryLock),
                Named.of("timed tryLock", lock -> lock.tryLock(1, TimeUnit.SECONDS)),
                Named.of("timed tryLock with ttl", lock -> lock.tryLock(Duration.ofSeconds(1), TTL)));
    }

    @Test
    void leader_whoseLockIsDeleted_isRevokedAndLeadsAgainWithTheLock() throws Exception {
        AtomicInteger revoked = new AtomicInteger();
        AtomicReference<Thread> leader = new AtomicReference<>(Thread.currentThread());
        Semaphore granted = new Semaphore(0);
        Candidate candidate = new AbstractCandidate("here", key) {
            @Override
            public void onGranted(Context context) {
                leader.set(Thread.currentThread());
                granted.release();
            }

            @Override
            public void onRevoked(Context context) {
                revoked.incrementAndGet();
            }
        };
        LockRegistryLeaderInitiator initiator = new LockRegistryLeaderInitiator(registry, candidate);
        initiator.setHeartBeatMillis(200);
        initiator.setBusyWaitMillis(50);
        initiator.start();
        try {
            assertThat(granted.tryAcquire(20, TimeUnit.SECONDS)).isTrue();
            await("between two heartbeats").until(() -> leader.get().getState() == Thread.State.TIMED_WAITING);
            there.reentrantLock("flows:" + key).forceUnlock();
            assertThat(granted.tryAcquire(20, TimeUnit.SECONDS))
                    .as("leads again")
                    .isTrue();
            assertThat(revoked).as("revoked before").hasValue(1);
            assertThat(remote.tryLock()).isFalse();
        } finally {
            initiator.destroy();
        }
    }

    @Test
    void renewLock_byAThreadThatIsInterrupted_renewsAndKeepsTheInterrupt() {
        lock.lock(Duration.ofSeconds(3));
        Thread.currentThread().interrupt();
        registry.renewLock(key, Duration.ofHours(1));
        assertThat(Thread.interrupted()).isTrue();
        assertThat(registry.fencedLock(key).remainingLease()).isGreaterThan(Duration.ofMinutes(30));
        lock.unlock();
    }

    @Test
    void executeLocked_worksAsWithOtherRegistries() throws Exception {
        assertThat(registry.<Integer, RuntimeException>executeLocked(
                        key, () -> registry.fencedLock(key).getHoldCount()))
                .isOne();
        remote.lock();
        assertThatThrownBy(() -> registry.executeLocked(key, Duration.ofMillis(1), () -> {}))
                .isInstanceOf(TimeoutException.class);
        remote.unlock();
        registry.expireUnusedOlderThan(0);
    }

    @Test
    void keys_thatOtherJvmsWouldSpellDifferently_areRefused() {
        assertThat(registry.fencedLock(4711L).getName()).isEqualTo("flows:4711");
        assertThat(registry.fencedLock(TimeUnit.DAYS).getName()).isEqualTo("flows:DAYS");
        assertThat(new RedisLocksRegistry(here).fencedLock("a").getName()).isEqualTo("a");
        assertThatThrownBy(() -> registry.obtain(new Object()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("java.lang.Object")
                .hasMessageContaining("Pass a text");
        assertThatThrownBy(() -> new RedisLocksRegistry(here, " ")).hasMessageContaining("registryKey");
    }
}
