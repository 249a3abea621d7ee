package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockHandle;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.RedisServers;
import io.github.redislocks.fixture.SentinelServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A job that three JVMs schedule and that is to run once at each tick, on a real server. */
@Timeout(60)
@Tag("server")
class OncePerTickTest {

    private static final int TICKS = 5;
    private static final long TICK_MILLIS = 2_000;
    /** By so much the schedules of two pods differ. */
    private static final long APART_MILLIS = 60;

    private static final long JOB_MILLIS = 20;
    /** About half a tick, so that a thread may be late by most of a second. */
    private static final Duration AT_LEAST = Duration.ofMillis(1_100);

    private final AtomicInteger[] runs = new AtomicInteger[TICKS];

    /** A tick of a pod. */
    private void tick(RedisLocks locks, int tick) throws InterruptedException {
        Optional<LockHandle> turn = locks.reentrantLock("job").tryAcquire(Duration.ZERO);
        if (turn.isPresent()) {
            try (LockHandle held = turn.get()) {
                assertThat(held.previousHolderLost()).isFalse();
                runs[tick].incrementAndGet();
                assertThat(new CountDownLatch(1).await(JOB_MILLIS, TimeUnit.MILLISECONDS))
                        .isFalse();
                assertThat(held.releaseAfter(AT_LEAST)).isTrue();
            }
        }
    }

    /** Tokens are the times at which Redis gave the lock. */
    @ParameterizedTest
    @ValueSource(strings = {"single", "sentinel", "cluster"})
    void releaseAfter_waiterGetsTheLockWhenTheTimeIsOver(String topology) throws Exception {
        String uri =
                switch (topology) {
                    case "single" -> RedisServers.shared().uri();
                    case "sentinel" -> SentinelServers.shared().uri();
                    default -> ClusterServers.shared().uri();
                };
        String name = "kept-" + UUID.randomUUID();
        try (RedisLocks locks = RedisLocks.connect(uri);
                RedisLocks others = RedisLocks.connect(uri)) {
            LockHandle held = locks.reentrantLock(name).acquire();
            long token = held.fencingToken();
            CompletableFuture<LockHandle> here = locks.reentrantLock(name).acquireAsync();
            CompletableFuture<LockHandle> there = others.reentrantLock(name).acquireAsync();
            await().until(() -> others.inspect(name).queueLength() == 1);
            assertThat(held.releaseAfter(Duration.ofSeconds(1))).isTrue();
            assertThat(others.inspect(name).keptFor()).isPresent();
            LockHandle next = (LockHandle) CompletableFuture.anyOf(here, there).get(20, TimeUnit.SECONDS);
            assertThat(next.fencingToken() - token).as("µs").isGreaterThanOrEqualTo(1_000_000);
            assertThat(next.previousHolderLost()).isFalse();
            next.close();
            CompletableFuture.allOf(here, there).get(20, TimeUnit.SECONDS);
            (next.equals(here.get()) ? there : here).get().close();
        }
    }

    @Test
    void job_ofThreePods_runsOncePerTick() throws InterruptedException, ExecutionException {
        List<ScheduledFuture<?>> ticks = new ArrayList<>();
        ScheduledExecutorService schedules = Executors.newScheduledThreadPool(3);
        try (RedisServer server = RedisServer.start();
                RedisLocks a = RedisLocks.connect(server.uri());
                RedisLocks b = RedisLocks.connect(server.uri());
                RedisLocks c = RedisLocks.connect(server.uri())) {
            List<RedisLocks> pods = List.of(a, b, c);
            for (int i = 0; i < TICKS; i++) {
                int tick = i;
                runs[tick] = new AtomicInteger();
                for (int pod = 0; pod < pods.size(); pod++) {
                    RedisLocks locks = pods.get(pod);
                    ticks.add(schedules.schedule(
                            () -> {
                                tick(locks, tick);
                                return tick;
                            },
                            tick * TICK_MILLIS + pod * APART_MILLIS,
                            TimeUnit.MILLISECONDS));
                }
            }
            for (ScheduledFuture<?> each : ticks) {
                each.get();
            }
        } finally {
            schedules.shutdownNow();
        }
        assertThat(runs).extracting(AtomicInteger::get).containsOnly(1).hasSize(TICKS);
    }
}
