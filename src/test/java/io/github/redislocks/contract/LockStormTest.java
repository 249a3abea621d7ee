package io.github.redislocks.contract;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockOptions;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.DeniedTime;
import io.github.redislocks.fixture.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/**
 * Many threads of several clients take a few locks, plain and fair, in every way there is, while they are interrupted
 * at random: nobody is ever inside with another, tokens grow, nobody waits for a grant that somebody else was given,
 * and nothing is left. Replay with {@code -Dstorm.seed=}.
 */
@Timeout(120)
@Tag("server")
class LockStormTest {

    private static final int CLIENTS = 3;
    private static final int THREADS_PER_CLIENT = 4;
    private static final int LOCKS = 3;
    private static final long RUN_NANOS = TimeUnit.SECONDS.toNanos(Integer.getInteger("storm.seconds", 6));
    /** Below one heartbeat: a wake-up that only a heartbeat repairs shows up here. */
    private static final long LONGEST_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(1_200);

    private final long seed = Long.getLong("storm.seed", System.nanoTime());
    private final String prefix = "storm-" + UUID.randomUUID();
    private final AtomicInteger[] inside =
            Stream.generate(AtomicInteger::new).limit(LOCKS).toArray(AtomicInteger[]::new);
    private final AtomicLong[] lastToken =
            Stream.generate(AtomicLong::new).limit(LOCKS).toArray(AtomicLong[]::new);
    private final AtomicLong acquired = new AtomicLong();
    private final AtomicLong interrupted = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong tries = new AtomicLong();
    private final AtomicLong unanswered = new AtomicLong();
    /** Of those, while Redis answered others at once. */
    private final AtomicLong unheard = new AtomicLong();

    private final Bystander bystander = new Bystander();
    private final AtomicLong longestWait = new AtomicLong();
    private final DeniedTime time = new DeniedTime();
    private final Queue<Throwable> errors = new ConcurrentLinkedQueue<>();

    /** Somebody else who asks Redis all the time, and so knows when it was silent, or the machine denied time. */
    private static final class Bystander extends Thread {

        private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
        /** Half of what any request of a timed try waits for its answer. */
        private static final long SILENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

        private volatile long answeredAt = System.nanoTime();
        private volatile long silentUntil = answeredAt;
        private volatile boolean over;

        @Override
        public void run() {
            try (Jedis jedis = RedisServers.shared().client()) {
                while (!over) {
                    jedis.ping();
                    long now = System.nanoTime();
                    if (now - answeredAt > SILENCE_NANOS) {
                        silentUntil = now;
                    }
                    answeredAt = now;
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
        }

        /** Whether it had its answers at once ever since a time. */
        boolean answeredSince(long nanos) {
            return silentUntil - nanos < 0 && System.nanoTime() - answeredAt <= SILENCE_NANOS;
        }
    }

    @Test
    void storm_ofEverything_excludesWakesAndLeavesNothing() throws InterruptedException {
        System.out.println("LockStormTest: -Dstorm.seed=" + seed);
        List<RedisLocks> clients = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        long end = System.nanoTime() + RUN_NANOS;
        for (int c = 0; c < CLIENTS; c++) {
            RedisLocks client = RedisLocks.builder()
                    .uri(RedisServers.shared().uri())
                    .keyPrefix(prefix)
                    .build();
            clients.add(client);
            for (int t = 0; t < THREADS_PER_CLIENT; t++) {
                Random random = new Random(seed + threads.size());
                threads.add(new Thread(() -> work(client, random, end), "storm-" + c + "-" + t));
            }
        }
        bystander.start();
        threads.forEach(Thread::start);
        Random random = new Random(seed);
        long began = time.now();
        long sent = 0;
        while (System.nanoTime() < end) {
            threads.get(random.nextInt(threads.size())).interrupt();
            sent++;
            LockSupport.parkNanos(random.nextInt(2_000_000));
        }
        long stallNanos = RUN_NANOS - time.since(began).toNanos();
        for (Thread thread : threads) {
            thread.join(30_000);
            assertThat(thread.isAlive()).as("%s hangs, seed %d", thread, seed).isFalse();
        }
        clients.forEach(RedisLocks::close);
        time.close();
        bystander.over = true;
        Set<String> left;
        try (Jedis jedis = RedisServers.shared().client()) {
            left = jedis.keys(prefix + "*");
        }
        System.out.printf(
                "LockStormTest: %d acquired, %d refused, longest wait %d ms, less what the machine denied: %d ms in all%n",
                acquired.get(), refused.get(), longestWait.get() / 1_000_000, stallNanos / 1_000_000);
        System.out.printf(
                "LockStormTest: %d short tries, %d unanswered, %d of them while Redis answered others%n",
                tries.get(), unanswered.get(), unheard.get());
        System.out.printf(
                "LockStormTest: %d interrupts sent, %d InterruptedExceptions, other exceptions: %s, keys left: %s%n",
                sent, interrupted.get(), byType(errors), left);
        assertThat(errors).as("seed %d", seed).isEmpty();
        assertThat(acquired.get()).isGreaterThan(100);
        assertThat(interrupted.get()).isGreaterThan(100);
        assertThat(longestWait.get())
                .as("longest wait, less what the machine denied meanwhile, seed %d", seed)
                .isLessThan(LONGEST_WAIT_NANOS);
        assertThat(unheard.get())
                .as(
                        "tries that were not told that the lock is busy, though Redis answered, of %d, seed %d",
                        tries.get(), seed)
                .isLessThanOrEqualTo(tries.get() / 100);
        assertThat(left).isNotEmpty().allMatch(key -> key.endsWith(":fence"));
    }

    private static Map<String, Long> byType(Collection<Throwable> exceptions) {
        return exceptions.stream()
                .collect(Collectors.groupingBy(e -> e.getClass().getName(), Collectors.counting()));
    }

    private void work(RedisLocks client, Random random, long end) {
        List<RedisReentrantLock> locks = new ArrayList<>();
        for (int i = 0; i < LOCKS; i++) {
            // Plain, fair, and both at once: fairness is how one waits, not another lock.
            boolean fair = i == 1 || (i == 2 && random.nextBoolean());
            locks.add(
                    fair
                            ? client.reentrantLock(
                                    "lock" + i, LockOptions.defaults().fair(true))
                            : client.reentrantLock("lock" + i));
        }
        while (System.nanoTime() < end) {
            int which = random.nextInt(LOCKS);
            try {
                once(locks.get(which), which, random);
            } catch (InterruptedException e) {
                interrupted.incrementAndGet();
            } catch (Throwable e) {
                errors.add(e);
            }
        }
    }

    private void once(RedisReentrantLock lock, int which, Random random) throws InterruptedException {
        long real = System.nanoTime();
        long began = time.now();
        long limit = 0;
        boolean got = true;
        switch (random.nextInt(7)) {
            case 0 -> lock.lock();
            case 1 -> lock.lockInterruptibly();
            case 2 -> fixed(lock, Duration.ofSeconds(10)).lock();
            case 3 -> got = lock.tryLock();
            case 4 -> {
                limit = random.nextInt(5_000_000);
                got = tried(lock, limit, null);
            }
            case 5 -> {
                limit = random.nextInt(20) * 1_000_000L;
                got = tried(lock, limit, Duration.ofSeconds(5));
            }
            default -> got = lock.tryLock(20, TimeUnit.SECONDS);
        }
        longestWait.accumulateAndGet(time.now() - began, Math::max);
        if (!got) {
            refused.incrementAndGet();
            assertThat(System.nanoTime() - real).as("refused early").isGreaterThanOrEqualTo(limit);
            return;
        }
        try {
            int now = inside[which].incrementAndGet();
            assertThat(now).as("inside at once").isEqualTo(1);
            long token = lock.fencingToken();
            assertThat(lastToken[which].getAndSet(token)).as("token before").isLessThan(token);
            assertThat(lock.previousHolderLost()).isFalse();
            if (random.nextInt(4) == 0) {
                lock.lock();
                assertThat(lock.getHoldCount()).isEqualTo(2);
                lock.unlock();
            }
            if (random.nextInt(8) == 0) {
                lock.newCondition("storm").signal();
            } else if (random.nextInt(8) == 0) {
                inside[which].decrementAndGet();
                try {
                    lock.newCondition("storm").awaitNanos(random.nextInt(3_000_000));
                } finally {
                    // Held again, whatever happened; by the same hold if an interrupt came before it was given up.
                    assertThat(lock.getHoldCount()).isEqualTo(1);
                    assertThat(inside[which].incrementAndGet())
                            .as("inside after await")
                            .isEqualTo(1);
                    long again = lock.fencingToken();
                    assertThat(lastToken[which].getAndSet(again))
                            .as("token before")
                            .isLessThanOrEqualTo(again);
                }
            }
            acquired.incrementAndGet();
        } finally {
            inside[which].decrementAndGet();
            lock.unlock();
        }
    }

    /** Tries for a time in which Redis may not answer on a busy machine: not knowing is not the same as busy. */
    private boolean tried(RedisReentrantLock lock, long nanos, @Nullable Duration lease) throws InterruptedException {
        tries.incrementAndGet();
        long began = System.nanoTime();
        try {
            return lease == null
                    ? lock.tryLock(nanos, TimeUnit.NANOSECONDS)
                    : fixed(lock, lease).tryLock(Duration.ofNanos(nanos));
        } catch (LockUnavailableException e) {
            unanswered.incrementAndGet();
            if (bystander.answeredSince(began)) {
                unheard.incrementAndGet();
            }
            return false;
        }
    }
}
