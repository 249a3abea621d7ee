package io.github.redislocks.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServers;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.integration.support.locks.DistributedLock;

/** The registry for Spring Integration on a real Redis. */
@Timeout(60)
class RedisLocksRegistryTest {

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
