package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServer;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/**
 * Very many acquisitions at a time for which no thread waits, on a real server. More of them:
 *
 * <pre>
 *   mvn test -Dtest=HandleStormTest -Dstorm.pending=100000 -Dstorm.cancels=1000000
 * </pre>
 */
@Timeout(600)
@Tag("server")
class HandleStormTest {

    private static final int PENDING = Integer.getInteger("storm.pending", 10_000);
    private static final int CANCELLED = Integer.getInteger("storm.cancels", 50_000);
    /** A hundred wait for each name. */
    private static final int NAMES = PENDING / 100;

    /** Of the library, for as many acquisitions as there are: watchdog, sender, mailbox, async. */
    private static final int THREADS = 4;
    /** Heap for each pending acquisition, with the future that its user has. */
    private static final int BYTES = 1_400;

    /** An acquisition is cancelled when up to as many others have begun after it. */
    private static final int LAG = 64;

    private final RedisServer server = RedisServer.start();
    private final RedisLocks locks = RedisLocks.connect(server.uri());
    private final RedisLocks others = RedisLocks.connect(server.uri());
    /** One's own: that of the JDK may be a thread for each task. */
    private final ExecutorService users = Executors.newFixedThreadPool(2);

    private final Jedis redis = new Jedis(URI.create(server.uri()));

    @AfterEach
    void close() {
        locks.close();
        others.close();
        users.shutdown();
        redis.close();
        server.close();
    }

    /** All keys but those that remember last tokens. */
    private Set<String> keys() {
        return redis.keys("*").stream().filter(key -> !key.endsWith(":fence")).collect(Collectors.toSet());
    }

    /** Threads of the client, but for those that connect and go then. */
    private Set<String> threads() {
        String client = locks.clientId().replaceFirst(".*:", "");
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> name.startsWith("redis-locks-") && name.endsWith(client))
                .filter(name -> !name.startsWith("redis-locks-io-"))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Connections that have subscribed to anything, of all clients of the server. */
    private long subscriptions() {
        return redis.clientList()
                .lines()
                .filter(line -> !line.contains(" sub=0 "))
                .count();
    }

    /** The memory in use after collections, until those find nothing more. */
    private static long heap() {
        MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        long least = Long.MAX_VALUE;
        for (int useless = 0; useless < 2; ) {
            System.gc();
            long used = memory.getHeapMemoryUsage().getUsed();
            useless = used < least ? 0 : useless + 1;
            least = Math.min(least, used);
        }
        return least;
    }

    @Test
    void manyPending_needLittle_andAreServedOneByOne() throws Exception {
        List<LockHandle> held = new ArrayList<>();
        for (int i = 0; i < NAMES; i++) {
            held.add(others.reentrantLock("n" + i).acquire());
        }
        locks.reentrantLock("warm").acquireAsync().get(30, TimeUnit.SECONDS).close();
        List<CompletableFuture<LockHandle>> pending = new ArrayList<>(PENDING);
        long empty = heap();
        long began = System.nanoTime();
        for (int i = 0; i < PENDING; i++) {
            pending.add(locks.reentrantLock("n" + i % NAMES).acquireAsync());
        }
        long made = System.nanoTime();
        await().atMost(Duration.ofSeconds(100))
                .until(() -> redis.keys("*:queue").size() == NAMES);
        long queued = System.nanoTime();
        long bytes = (heap() - empty) / PENDING;
        Set<String> whilePending = threads();
        // The one that told of the lock that was taken first goes when it has been idle.
        whilePending.removeIf(name -> name.startsWith("redis-locks-handles-"));
        assertThat(whilePending).hasSizeLessThanOrEqualTo(THREADS);
        assertThat(subscriptions()).isOne();
        assertThat(bytes).as("heap for each pending acquisition").isLessThan(BYTES);

        AtomicIntegerArray inside = new AtomicIntegerArray(NAMES);
        List<CompletableFuture<Boolean>> all = new ArrayList<>(PENDING);
        for (int i = 0; i < PENDING; i++) {
            int name = i % NAMES;
            all.add(pending.get(i).thenCompose(handle -> {
                assertThat(inside.incrementAndGet(name)).as("at a time").isOne();
                return CompletableFuture.supplyAsync(() -> inside.decrementAndGet(name), users)
                        .thenCompose(left -> handle.releaseAsync());
            }));
        }
        pending.clear();
        long released = System.nanoTime();
        for (LockHandle each : held) {
            each.close();
        }
        for (CompletableFuture<Boolean> each : all) {
            assertThat(each.get(500, TimeUnit.SECONDS)).isTrue();
        }
        System.out.printf(
                "HandleStormTest: %d pending for %d names: %d B of heap each, %d threads %s, begun in %d ms, queued after"
                        + " %d ms, served in %d ms%n",
                PENDING,
                NAMES,
                bytes,
                whilePending.size(),
                whilePending,
                (made - began) / 1_000_000,
                (queued - began) / 1_000_000,
                (System.nanoTime() - released) / 1_000_000);
        assertThat(threads()).as("with the one that tells").hasSizeLessThanOrEqualTo(THREADS + 1);
        await().untilAsserted(() -> assertThat(keys()).isEmpty());
    }

    /** Some while they wait, some while their request is under way, and some at the moment of the grant. */
    @Test
    void manyCancelled_leaveNothing() throws Exception {
        LockHandle held = others.reentrantLock("busy").acquire();
        List<CompletableFuture<LockHandle>> recent = new ArrayList<>(Collections.nCopies(LAG, null));
        Random random = new Random(7);
        int granted = 0;
        long began = System.nanoTime();
        for (int i = 0; i < CANCELLED; i++) {
            String name = i % 5 == 0 ? "free" + i % 100 : "busy";
            CompletableFuture<LockHandle> earlier =
                    recent.set(random.nextInt(LAG), locks.reentrantLock(name).acquireAsync());
            granted += cancel(earlier);
        }
        for (CompletableFuture<LockHandle> each : recent) {
            granted += cancel(each);
        }
        long cancelled = System.nanoTime();
        held.close();
        await().atMost(Duration.ofSeconds(100))
                .untilAsserted(() -> assertThat(keys()).isEmpty());
        System.out.printf(
                "HandleStormTest: %d begun in %d ms, %d granted and released before they were cancelled, nothing left"
                        + " after %d ms%n",
                CANCELLED, (cancelled - began) / 1_000_000, granted, (System.nanoTime() - cancelled) / 1_000_000);
        try (LockHandle next = others.reentrantLock("busy").acquire()) {
            assertThat(next.isHeld()).isTrue();
        }
    }

    /** Returns 1 if the lock was acquired already, and releases it; else 0. */
    private static int cancel(@Nullable CompletableFuture<LockHandle> future) {
        if (future == null || future.cancel(true)) {
            return 0;
        }
        future.join().releaseAsync();
        return 1;
    }

    /** More than its requests get a turn for in the time that a close gives them. */
    @Test
    void close_whileTheServerHangs_failsAllThatWait() throws Exception {
        locks.reentrantLock("warm").acquireAsync().get(30, TimeUnit.SECONDS).close();
        LockHandle held = locks.reentrantLock("held").acquire();
        server.pause();
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            all.add(locks.reentrantLock("n" + i).acquireAsync());
        }
        all.add(held.releaseAsync().toCompletableFuture());
        locks.close();
        await().untilAsserted(() -> assertThat(all).allMatch(CompletableFuture::isDone));
        server.resume();
    }

    @Test
    void forced_isToldAtOnce() throws Exception {
        LockHandle held = locks.reentrantLock("job").acquire();
        CompletableFuture<LockLost> lost = held.lost().toCompletableFuture();
        await().until(() -> redis.pubsubChannels("redis-locks:mailbox:*").size() > 0);
        assertThat(others.reentrantLock("job").forceUnlock()).isTrue();
        // The next renewal would be due in ten seconds.
        assertThat(lost.get(5, TimeUnit.SECONDS).reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(held.release()).isFalse();
    }
}
