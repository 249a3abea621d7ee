package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.FaultyProxy;
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
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/**
 * A Redis in another region: everything works at round trips of 1 to 200 ms, and nothing of it looks like an outage.
 */
@Tag("once")
@Timeout(120)
@Tag("server")
class FarRedisTest {

    private static final int THREADS = 4;
    /** The time that a timed try may take beyond its own. */
    private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private static RedisServer server;

    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    private final FaultyProxy way = FaultyProxy.to(server);
    private final RedisLocks near = RedisLocks.connect(server.uri());
    private final RedisReentrantLock other = near.reentrantLock("job");
    private final List<Object> losses = new CopyOnWriteArrayList<>();
    /** The longest time for which a thread that had next to nothing to do was not run. */
    private final AtomicLong stallNanos = new AtomicLong();

    private final Thread control = new Thread(this::watchStalls);

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @AfterEach
    void close() {
        control.interrupt();
        threads.shutdownNow();
        near.close();
        way.close();
    }

    private RedisLocks connect() {
        // A connection takes several round trips to make.
        return RedisLocks.builder()
                .uri(way.uri())
                .commandTimeout(Duration.ofSeconds(3))
                .onLockLost(losses::add)
                .build();
    }

    private void watchStalls() {
        long last = System.nanoTime();
        while (!Thread.currentThread().isInterrupted()) {
            LockSupport.parkNanos(1_000_000);
            long now = System.nanoTime();
            stallNanos.accumulateAndGet(now - last, Math::max);
            last = now;
        }
    }

    private <T> List<T> inAllThreads(Callable<T> work) throws Exception {
        List<Future<T>> futures = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            futures.add(threads.submit(work));
        }
        List<T> results = new ArrayList<>();
        for (Future<T> future : futures) {
            results.add(future.get());
        }
        return results;
    }

    private static void assertNothingIsLeft() {
        try (Jedis jedis = server.client()) {
            await().until(() -> !jedis.exists("redis-locks:{job}")
                    && !jedis.exists("redis-locks:{job}:queue")
                    && !jedis.exists("redis-locks:{job}:waiters"));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 20, 80, 200})
    void timedTries_ofALockThatIsHeld_areFalse_inTime_andLeaveNothing(int roundTripMillis) throws Exception {
        way.roundTrip(Duration.ofMillis(roundTripMillis));
        long tryNanos = TimeUnit.MILLISECONDS.toNanos(50L + 6L * roundTripMillis);
        try (RedisLocks far = connect()) {
            RedisReentrantLock lock = far.reentrantLock("job");
            other.lock();
            control.start();
            List<Long> worst = inAllThreads(() -> {
                long latest = 0;
                for (int i = 0; i < 5; i++) {
                    long began = System.nanoTime();
                    assertThat(lock.tryLock(tryNanos, TimeUnit.NANOSECONDS)).isFalse();
                    long took = System.nanoTime() - began;
                    assertThat(took).as("never early").isGreaterThanOrEqualTo(tryNanos);
                    latest = Math.max(latest, took - tryNanos);
                }
                return latest;
            });
            assertThat(worst).allSatisfy(late -> assertThat(late).isLessThan(LATE_NANOS + stallNanos.get()));
            other.unlock();
            assertNothingIsLeft();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 20, 80, 200})
    void contendedLock_isHadByOneAtATime_andByAll(int roundTripMillis) throws Exception {
        way.roundTrip(Duration.ofMillis(roundTripMillis));
        long[] count = {0};
        try (RedisLocks far = connect()) {
            RedisReentrantLock lock = far.reentrantLock("job");
            Thread competitor = new Thread(() -> {
                for (int i = 0; i < 20; i++) {
                    other.lock();
                    count[0]++;
                    other.unlock();
                }
            });
            competitor.start();
            inAllThreads(() -> {
                for (int i = 0; i < 5; i++) {
                    lock.lock();
                    count[0]++;
                    lock.unlock();
                }
                return true;
            });
            competitor.join();
            lock.lock();
            assertThat(count[0]).isEqualTo(20 + 5L * THREADS);
            lock.unlock();
            assertThat(losses).isEmpty();
            assertNothingIsLeft();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {80, 200})
    void shortTries_openTheMailboxAllTheSame_soThatOneIsServed(int roundTripMillis) throws Exception {
        way.roundTrip(Duration.ofMillis(roundTripMillis));
        try (RedisLocks far = connect();
                Jedis jedis = server.client()) {
            RedisReentrantLock lock = far.reentrantLock("job");
            other.lock();
            Future<Boolean> served = threads.submit(() -> {
                while (!isLockedShortly(lock, roundTripMillis)) {
                    // Each has too little time to subscribe by itself.
                    Thread.onSpinWait();
                }
                lock.unlock();
                return true;
            });
            await().until(() -> jedis.zcard("redis-locks:{job}:queue") == 1);
            other.unlock();
            assertThat(served.get()).isTrue();
            assertNothingIsLeft();
        }
    }

    private static boolean isLockedShortly(RedisReentrantLock lock, int roundTripMillis) throws InterruptedException {
        try {
            return lock.tryLock(2L * roundTripMillis, TimeUnit.MILLISECONDS);
        } catch (LockUnavailableException stall) {
            // On a busy machine it may be too short for any answer.
            return false;
        }
    }
}
