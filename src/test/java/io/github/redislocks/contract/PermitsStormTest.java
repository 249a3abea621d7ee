package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.PermitHandle;
import io.github.redislocks.Permits;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.DeniedTime;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.Jedis;

/**
 * Many threads of several clients acquire permits of one pool, one or several at once, in every way there is, while the
 * threads are interrupted at random: nobody ever shares a number, nobody waits for a grant that somebody else got, and
 * nothing is left. Replay with {@code -Dstorm.seed=}.
 */
@Timeout(120)
@Tag("server")
class PermitsStormTest {

    private static final int SIZE = 3;
    private static final int CLIENTS = 3;
    private static final int THREADS_PER_CLIENT = 3;
    private static final long RUN_NANOS = TimeUnit.SECONDS.toNanos(Integer.getInteger("storm.seconds", 4));

    private final long seed = Long.getLong("storm.seed", System.nanoTime());
    private final String prefix = "storm-" + UUID.randomUUID();
    private final AtomicIntegerArray owners = new AtomicIntegerArray(SIZE);
    private final AtomicInteger acquired = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();
    private final AtomicInteger interrupted = new AtomicInteger();
    private final AtomicInteger unanswered = new AtomicInteger();
    private final AtomicLong longestWait = new AtomicLong();
    private final DeniedTime time = new DeniedTime();
    private final Queue<Throwable> errors = new ConcurrentLinkedQueue<>();

    /** A wait of one heartbeat would show a lost wake-up; with a distant server, waits are long by themselves. */
    @ParameterizedTest
    @CsvSource({"0, 1200", "30, 20000"})
    void storm_ofEverything_sharesNoNumber_wakesAndLeavesNothing(int roundTripMillis, long longestWaitMillis)
            throws InterruptedException {
        System.out.println("PermitsStormTest: -Dstorm.seed=" + seed);
        RedisServer server = RedisServer.start();
        List<RedisLocks> clients = new ArrayList<>();
        List<FaultyProxy> proxies = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        long end = System.nanoTime() + RUN_NANOS;
        for (int c = 0; c < CLIENTS; c++) {
            FaultyProxy proxy = FaultyProxy.to(server);
            proxy.roundTrip(Duration.ofMillis(roundTripMillis));
            proxies.add(proxy);
            RedisLocks client =
                    RedisLocks.builder().uri(proxy.uri()).keyPrefix(prefix).build();
            clients.add(client);
            for (int t = 0; t < THREADS_PER_CLIENT; t++) {
                Random random = new Random(seed + threads.size());
                threads.add(new Thread(() -> work(client.permits("pool", SIZE), random, end), "storm-" + c + "-" + t));
            }
        }
        threads.forEach(Thread::start);
        Random random = new Random(seed);
        while (System.nanoTime() < end) {
            threads.get(random.nextInt(threads.size())).interrupt();
            LockSupport.parkNanos(random.nextInt(4_000_000));
        }
        for (Thread thread : threads) {
            thread.join(30_000);
            assertThat(thread.isAlive()).as("%s hangs, seed %d", thread, seed).isFalse();
        }
        Permits pool = clients.get(0).permits("pool", SIZE);
        await().until(() -> pool.available() == SIZE);
        assertThat(pool.inspect().waiting()).isEmpty();
        clients.forEach(RedisLocks::close);
        proxies.forEach(FaultyProxy::close);
        time.close();
        Set<String> left;
        try (Jedis jedis = server.client()) {
            left = jedis.keys(prefix + "*");
            assertThat(jedis.hkeys(prefix + ":{pool}:permits")).containsExactly("size");
        }
        server.close();
        System.out.printf(
                "PermitsStormTest: %d acquired, %d refused, %d interrupted, %d unanswered, longest wait %d ms%n",
                acquired.get(), refused.get(), interrupted.get(), unanswered.get(), longestWait.get() / 1_000_000);
        assertThat(errors).as("seed %d", seed).isEmpty();
        assertThat(acquired.get()).isGreaterThan(20);
        assertThat(interrupted.get()).isGreaterThan(20);
        assertThat(longestWait.get() / 1_000_000)
                .as("longest wait, seed %d", seed)
                .isLessThan(longestWaitMillis);
        assertThat(left).containsExactlyInAnyOrder(prefix + ":{pool}:permits", prefix + ":{pool}:permits:fence");
    }

    private void work(Permits pool, Random random, long end) {
        while (System.nanoTime() < end) {
            try {
                once(pool, 1 + random.nextInt(SIZE), random);
            } catch (InterruptedException e) {
                interrupted.incrementAndGet();
            } catch (LockUnavailableException e) {
                unanswered.incrementAndGet();
            } catch (Throwable e) {
                errors.add(e);
            }
        }
    }

    private void once(Permits pool, int count, Random random) throws InterruptedException {
        long began = time.now();
        Optional<PermitHandle> result =
                switch (random.nextInt(6)) {
                    case 0 -> pool.tryAcquire(count, Duration.ZERO);
                    case 1 -> pool.tryAcquire(count, Duration.ofNanos(random.nextInt(20_000_000)));
                    case 2 -> async(pool.acquireAsync(count), Optional::of, random);
                    case 3 ->
                        async(pool.tryAcquireAsync(count, Duration.ofMillis(random.nextInt(20))), got -> got, random);
                    default -> Optional.of(pool.acquire(count));
                };
        longestWait.accumulateAndGet(time.now() - began, Math::max);
        if (result.isEmpty()) {
            refused.incrementAndGet();
            return;
        }
        PermitHandle permits = result.orElseThrow();
        assertThat(permits.numbers()).hasSize(count);
        permits.numbers()
                .forEach(number -> assertThat(owners.incrementAndGet(number)).isOne());
        assertThat(permits.previousHolderLost()).isFalse();
        permits.ensureHeld();
        permits.numbers().forEach(owners::decrementAndGet);
        acquired.incrementAndGet();
        if (random.nextBoolean()) {
            permits.close();
        } else {
            permits.releaseAsync();
        }
    }

    /** The result of a future, unless the caller cancels the future before. */
    private static <T> Optional<PermitHandle> async(
            CompletableFuture<T> future, Function<T, Optional<PermitHandle>> read, Random random) {
        return random.nextInt(3) == 0 && future.cancel(false) ? Optional.empty() : read.apply(future.join());
    }
}
