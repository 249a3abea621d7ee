package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.VirtualThreads;
import io.github.redislocks.state.Settings;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import redis.clients.jedis.Jedis;

/**
 * Thousands of virtual threads, a new one for each task: all are served, an interrupt costs neither a connection nor
 * more than its own wait, and nothing grows with them but the memory of those that wait.
 */
@Timeout(120)
@EnabledForJreRange(min = JRE.JAVA_21)
@Tag("server")
class VirtualThreadsTest {

    private static final int MANY = 10_000;
    private static final int FAIR = 1_000;
    /** The watchdog's lane and the subscription. */
    private static final int OTHER_CONNECTIONS = 2;
    /** Two of the watchdog, one of the mailbox, one of the listener. */
    private static final int OTHER_THREADS = 4;

    private static final int CONNECTIONS = Settings.DEFAULT_MAX_CONNECTIONS + OTHER_CONNECTIONS;

    private final Map<String, AtomicInteger> errors = new ConcurrentHashMap<>();
    private RedisServer server;
    private Jedis jedis;
    private RedisLocks locks;
    private long connectionsBefore;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        jedis = server.client();
        connectionsBefore = connections();
        locks = RedisLocks.connect(server.uri());
    }

    @AfterEach
    void stop() {
        locks.close();
        jedis.close();
        server.close();
    }

    private long connections() {
        return jedis.clientList().lines().filter(line -> !line.isBlank()).count();
    }

    /** How many connections were ever made to the server. */
    private long connectionsMade() {
        return jedis.info("stats")
                .lines()
                .filter(line -> line.startsWith("total_connections_received:"))
                .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1)))
                .sum();
    }

    /** How many threads this client has; other tests of this JVM may have left some of theirs. */
    private long ours() {
        String clientId = locks.clientId();
        String end = clientId.substring(clientId.lastIndexOf(':') + 1);
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("redis-locks")
                        && thread.getName().endsWith(end))
                .count();
    }

    /** Starts virtual threads, each with its number, that count what they throw. */
    private List<Thread> start(int count, IntConsumer task) {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int number = i;
            threads.add(VirtualThreads.start(() -> {
                try {
                    task.accept(number);
                } catch (Throwable e) {
                    errors.computeIfAbsent(e.getClass().getName(), type -> new AtomicInteger())
                            .incrementAndGet();
                }
            }));
        }
        return threads;
    }

    /** Waits for the end of all threads, doing something meanwhile, and checks and reports what they cost. */
    private void join(String what, List<Thread> threads, Runnable meanwhile) {
        long began = System.nanoTime();
        long mostConnections = 0;
        long mostThreads = 0;
        long nextLook = began;
        while (threads.stream().anyMatch(Thread::isAlive)) {
            if (System.nanoTime() >= nextLook) {
                mostConnections = Math.max(mostConnections, connections() - connectionsBefore);
                mostThreads = Math.max(mostThreads, ours());
                nextLook = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(20);
            }
            meanwhile.run();
        }
        System.out.printf(
                "VirtualThreadsTest: %s in %d ms, at most %d connections (%d made) and %d platform threads; errors: %s%n",
                what, (System.nanoTime() - began) / 1_000_000, mostConnections, connectionsMade(), mostThreads, errors);
        assertThat(errors).isEmpty();
        // A connection that was given up in the middle of a request is the server's until it sees that.
        assertThat(mostConnections).isBetween(1L, 2L * CONNECTIONS);
        await().until(() -> connections() - connectionsBefore <= CONNECTIONS);
        // A thread that has given its place back may not be idle yet when the next call needs one.
        assertThat(mostThreads).isLessThanOrEqualTo(2L * CONNECTIONS + OTHER_THREADS);
        assertNothingLeft();
    }

    private void join(String what, List<Thread> threads) {
        join(what, threads, () -> LockSupport.parkNanos(1_000_000));
    }

    private void assertNothingLeft() {
        await().untilAsserted(() -> assertThat(jedis.keys("*")).isNotEmpty().allMatch(key -> key.endsWith(":fence")));
        Inside client = Inside.of(locks.client());
        await().untilAsserted(() -> {
            assertThat(client.holds().all()).isEmpty();
            assertThat(client.attempts().all()).isEmpty();
            assertThat(client.localQueue().size()).isZero();
            assertThat(client.watchdog().hasCommands(0)).isFalse();
        });
    }

    private void countUnderLock(int lockCount) {
        int[] counters = new int[lockCount];
        List<Thread> threads = start(MANY, number -> {
            int which = number % lockCount;
            RedisReentrantLock lock = locks.reentrantLock("lock" + which);
            for (int i = 0; i < 2; i++) {
                lock.lock();
                try {
                    counters[which]++;
                } finally {
                    lock.unlock();
                }
            }
        });
        join(MANY + " threads twice on " + lockCount + " locks", threads);
        assertThat(counters).containsOnly(2 * MANY / lockCount);
    }

    @Test
    void lock_byTenThousandOnOneLock_servesAll() {
        countUnderLock(1);
    }

    @Test
    void lock_byTenThousandOnAThousandLocks_servesAll() {
        countUnderLock(1_000);
    }

    @Test
    void fairLock_byAThousandWaiting_servesAll() {
        RedisReentrantLock lock =
                locks.reentrantLock("fair", LockOptions.defaults().fair(true));
        lock.lock();
        AtomicInteger served = new AtomicInteger();
        List<Thread> threads = start(FAIR, number -> {
            lock.lock();
            served.incrementAndGet();
            lock.unlock();
        });
        await().atMost(Duration.ofSeconds(30)).until(() -> jedis.zcard("redis-locks:{fair}:queue") == FAIR);
        lock.unlock();
        join(FAIR + " threads in line at a fair lock", threads);
        assertThat(served).hasValue(FAIR);
    }

    @Test
    void interrupts_atRandom_throwInterruptedExceptionAndNothingElse() {
        long seed = Long.getLong("virtual.seed", System.nanoTime());
        System.out.println("VirtualThreadsTest: -Dvirtual.seed=" + seed);
        Random random = new Random(seed);
        int lockCount = 50;
        int[] counters = new int[lockCount];
        AtomicInteger acquired = new AtomicInteger();
        AtomicInteger interrupted = new AtomicInteger();
        AtomicInteger refused = new AtomicInteger();
        AtomicInteger sent = new AtomicInteger();
        List<Thread> threads = start(MANY, number -> {
            RedisReentrantLock lock = number % 3 == 0
                    ? locks.reentrantLock(
                            "lock" + number % lockCount, LockOptions.defaults().fair(true))
                    : locks.reentrantLock("lock" + number % lockCount);
            try {
                if (number % 2 == 0) {
                    lock.lockInterruptibly();
                } else if (!lock.tryLock(100, TimeUnit.SECONDS)) {
                    refused.incrementAndGet();
                    return;
                }
            } catch (InterruptedException e) {
                interrupted.incrementAndGet();
                return;
            }
            try {
                counters[number % lockCount]++;
                acquired.incrementAndGet();
            } finally {
                lock.unlock();
            }
        });
        join(MANY + " threads on " + lockCount + " locks, interrupted at random", threads, () -> {
            Thread thread = threads.get(random.nextInt(MANY));
            if (thread.isAlive()) {
                thread.interrupt();
                sent.incrementAndGet();
            }
            LockSupport.parkNanos(random.nextInt(100_000));
        });
        System.out.printf(
                "VirtualThreadsTest: %d interrupts sent, %d InterruptedExceptions, %d acquired, %d refused, other"
                        + " exceptions: %s%n",
                sent.get(), interrupted.get(), acquired.get(), refused.get(), errors);
        assertThat(acquired.get() + interrupted.get()).isEqualTo(MANY);
        assertThat(interrupted).hasValueGreaterThan(MANY / 20);
        assertThat(acquired).hasValueGreaterThan(MANY / 20);
        int counted = 0;
        for (int counter : counters) {
            counted += counter;
        }
        assertThat(counted).isEqualTo(acquired.get());
    }

    @Test
    void owners_thatHaveEnded_areForgotten() throws InterruptedException {
        List<Thread> threads = start(1_000, number -> {
            RedisReentrantLock lock = locks.reentrantLock("lock" + number % 10);
            lock.lock();
            lock.unlock();
        });
        List<WeakReference<Thread>> ended = new ArrayList<>();
        for (Thread thread : threads) {
            thread.join();
            ended.add(new WeakReference<>(thread));
        }
        threads.clear();
        assertNothingLeft();
        await().until(() -> {
            System.gc();
            return ended.stream().allMatch(reference -> reference.refersTo(null));
        });
    }
}
