package io.github.redislocks.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.Locks;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.testkit.InMemoryLocks;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;
import net.javacrumbs.shedlock.support.LockException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What ShedLock's own tests do not ask. */
@Timeout(30)
class RedisLocksProviderTest {

    private static final Duration HOUR = Duration.ofHours(1);

    private final InMemoryLocks memory = InMemoryLocks.start();
    private final RedisLocks locks = memory.client();
    private final RedisLocksProvider here = new RedisLocksProvider(locks);
    private final RedisLocksProvider there = new RedisLocksProvider(memory.newClient());

    @AfterEach
    void close() {
        memory.close();
    }

    private static LockConfiguration atMost(Duration time) {
        return new LockConfiguration(InstantSource.system().instant(), "job", time, Duration.ZERO);
    }

    private static LockConfiguration atLeast(Duration time) {
        return new LockConfiguration(InstantSource.system().instant(), "job", Duration.ofDays(2), time);
    }

    @Test
    void lock_whileItsProcessLives_lasts() {
        assertThat(here.lock(atMost(HOUR))).isPresent();
        memory.advance(Duration.ofMinutes(10));
        assertThat(there.lock(atMost(HOUR))).isEmpty();
    }

    @Test
    void lock_ofAProcessThatDied_isFreeWithItsLease() {
        assertThat(here.lock(atMost(HOUR))).isPresent();
        memory.pause(locks);
        memory.advance(Duration.ofSeconds(31));
        assertThat(there.lock(atMost(HOUR))).isPresent();
    }

    @Test
    void lock_keptAtLeast_outlivesItsProcess() {
        assertThat(here.lock(atLeast(HOUR))).isPresent();
        memory.pause(locks);
        memory.advance(HOUR.minusMinutes(1));
        assertThat(there.lock(atMost(HOUR))).isEmpty();
        memory.advance(Duration.ofMinutes(2));
        assertThat(there.lock(atMost(HOUR))).isPresent();
    }

    @Test
    void lock_keptAtLeast_isKeptAfterItsUnlock() {
        memory.stopClock();
        here.lock(atLeast(HOUR)).orElseThrow().unlock();
        memory.advance(HOUR.minusMinutes(1));
        assertThat(there.lock(atMost(HOUR))).isEmpty();
        memory.advance(Duration.ofMinutes(1).plusMillis(1));
        assertThat(there.lock(atMost(HOUR))).isPresent();
    }

    @Test
    void lock_atMost_isGivenUp() {
        SimpleLock lock = here.lock(atMost(Duration.ofMillis(10))).orElseThrow();
        await().until(() -> locks.inspect("job").holder().isEmpty());
        lock.unlock();
        assertThat(locks.countHeld()).isZero();
    }

    @Test
    void unlock_afterALoss_isQuiet() {
        SimpleLock lock = here.lock(atMost(HOUR)).orElseThrow();
        memory.lose("job");
        assertThat(lock.extend(HOUR, Duration.ZERO)).isEmpty();
    }

    @Test
    void keepAlive_extendsTheLock() {
        List<Runnable> scheduled = new ArrayList<>();
        LockProvider provider = new KeepAliveLockProvider(here, executor(scheduled));
        Optional<SimpleLock> lock = provider.lock(atMost(Duration.ofMinutes(5)));
        assertThat(lock).isPresent();
        assertThat(scheduled).hasSize(1);
        for (int i = 0; i < 3; i++) {
            memory.advance(Duration.ofMinutes(2));
            scheduled.get(0).run();
        }
        assertThat(there.lock(atMost(HOUR))).isEmpty();
        lock.get().unlock();
        assertThat(there.lock(atMost(HOUR))).isPresent();
    }

    /** Keeps what is to be run again and again. */
    private static ScheduledExecutorService executor(List<Runnable> scheduled) {
        return (ScheduledExecutorService) Proxy.newProxyInstance(
                RedisLocksProviderTest.class.getClassLoader(),
                new Class<?>[] {ScheduledExecutorService.class},
                (proxy, method, arguments) -> {
                    scheduled.add((Runnable) arguments[0]);
                    return Proxy.newProxyInstance(
                            RedisLocksProviderTest.class.getClassLoader(),
                            new Class<?>[] {method.getReturnType()},
                            (future, call, none) -> false);
                });
    }

    @Test
    void lock_whileRedisIsAway_isUnknown() {
        memory.unavailable();
        assertThatExceptionOfType(LockUnavailableException.class).isThrownBy(() -> here.lock(atMost(HOUR)));
    }

    @Test
    void lock_whileRedisIsAwayForAMoment_waitsForIt() throws Exception {
        CountDownLatch tried = new CountDownLatch(1);
        LockListener listener = new LockListener() {
            @Override
            public void notAcquired(LockNotAcquired event) {
                tried.countDown();
            }
        };
        LockProvider provider = new RedisLocksProvider(memory.newClient(builder -> builder.listener(listener)));
        memory.unavailable();
        CompletableFuture<Optional<SimpleLock>> lock = OwnThread.call(() -> provider.lock(atMost(HOUR)));
        assertThat(tried.await(10, TimeUnit.SECONDS)).isTrue();
        memory.available();
        assertThat(lock.get(10, TimeUnit.SECONDS)).isPresent();
    }

    /** A request that was not answered may have taken the lock, which then is busy until that is undone. */
    @Test
    void lock_busyByItsOwnLostRequest_isTriedAgain() throws InterruptedException {
        Optional<LockHandle> free = locks.reentrantLock("job").tryAcquire(Duration.ZERO);
        Deque<Supplier<Optional<LockHandle>>> answers = new ArrayDeque<>();
        answers.add(() -> {
            throw LockUnavailableException.builder(LockUnavailableException.Reason.UNANSWERED, "memory", "lost")
                    .holdMayExist(true)
                    .build();
        });
        answers.add(Optional::empty);
        answers.add(() -> free);
        Locks scripted = scripted(() -> answers.remove().get());
        assertThat(new RedisLocksProvider(scripted).lock(atMost(HOUR))).isPresent();
        assertThat(answers).isEmpty();
    }

    /** Locks whose every try has the given outcome. */
    private static Locks scripted(Supplier<Optional<LockHandle>> outcome) {
        ClassLoader loader = RedisLocksProviderTest.class.getClassLoader();
        Object lock = Proxy.newProxyInstance(
                loader, new Class<?>[] {FencedLock.class}, (proxy, method, arguments) -> outcome.get());
        return (Locks) Proxy.newProxyInstance(loader, new Class<?>[] {Locks.class}, (proxy, method, arguments) -> lock);
    }

    /** A quorum cannot keep a lock for nobody: better the task does not run than that it never runs again. */
    @Test
    void lock_keptAtLeast_onAQuorum_isRefusedBeforeTheTaskRuns() {
        try (RedisLocks quorum = RedisLocks.builder()
                .quorum("redis://localhost:1", "redis://localhost:2", "redis://localhost:3")
                .connectLater(true)
                .build()) {
            LockProvider provider = new RedisLocksProvider(quorum);
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> provider.lock(atLeast(HOUR)))
                    .withMessageContaining("lockAtLeastFor");
        }
    }

    @Test
    void extension_keptAtLeast_onAQuorum_isReleasedNevertheless() {
        List<String> released = new ArrayList<>();
        LockHandle held = (LockHandle) Proxy.newProxyInstance(
                RedisLocksProviderTest.class.getClassLoader(),
                new Class<?>[] {LockHandle.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("releaseAfter")) {
                        throw new UnsupportedOperationException("a quorum");
                    } else if (method.getName().startsWith("release")) {
                        released.add(method.getName());
                    }
                    return method.getReturnType() == boolean.class ? true : new CompletableFuture<>();
                });
        Locks scripted = scripted(() -> Optional.of(held));
        SimpleLock lock = new RedisLocksProvider(scripted).lock(atMost(HOUR)).orElseThrow();
        SimpleLock extended = lock.extend(HOUR, Duration.ofMinutes(1)).orElseThrow();
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(extended::unlock);
        assertThat(released).containsExactly("release");
    }

    /** A task that is kept alive for months extends its lock a million times. */
    @Test
    void extensions_leaveNothingBehind() {
        CompletableFuture<LockLost> lost = new CompletableFuture<>();
        LockHandle held = (LockHandle) Proxy.newProxyInstance(
                RedisLocksProviderTest.class.getClassLoader(),
                new Class<?>[] {LockHandle.class},
                (proxy, method, arguments) -> method.getReturnType() == boolean.class ? true : lost);
        Locks scripted = scripted(() -> Optional.of(held));
        SimpleLock lock = new RedisLocksProvider(scripted).lock(atMost(HOUR)).orElseThrow();
        for (int i = 0; i < 100; i++) {
            lock = lock.extend(HOUR, Duration.ZERO).orElseThrow();
        }
        assertThat(lost.getNumberOfDependents()).isOne();
        lock.unlock();
    }

    /** Of the extension, from when it was asked for; what the first one said counts no more. */
    @Test
    void extension_keptAtLeast_longerThanBefore_isKeptForThat() {
        SimpleLock lock = here.lock(atLeast(Duration.ofMinutes(1))).orElseThrow();
        lock.extend(HOUR, HOUR).orElseThrow().unlock();
        memory.advance(HOUR.minusMinutes(1));
        assertThat(there.lock(atMost(HOUR))).isEmpty();
        memory.advance(Duration.ofMinutes(2));
        SimpleLock other = there.lock(atLeast(HOUR)).orElseThrow();
        other.extend(HOUR, Duration.ofMinutes(1)).orElseThrow().unlock();
        memory.advance(Duration.ofMinutes(2));
        assertThat(here.lock(atMost(HOUR))).isPresent();
    }

    @Test
    void extension_atLeastForTooLong_isRefused_andTheLockGoesOn() {
        SimpleLock lock = here.lock(atMost(HOUR)).orElseThrow();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> lock.extend(Duration.ofDays(2), Duration.ofHours(25)))
                .withMessageContaining("90000000 ms");
        assertThat(there.lock(atMost(HOUR))).isEmpty();
        lock.unlock();
        assertThat(there.lock(atMost(HOUR))).isPresent();
    }

    @Test
    void lock_interrupted_throwsAndKeepsTheInterrupt() {
        Thread.currentThread().interrupt();
        assertThatExceptionOfType(LockException.class).isThrownBy(() -> here.lock(atMost(HOUR)));
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void lock_atLeastForTooLong_isRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> here.lock(atLeast(Duration.ofHours(25))))
                .withMessageContaining("90000000 ms")
                .withMessageContaining("24 h");
    }
}
