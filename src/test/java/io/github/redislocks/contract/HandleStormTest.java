package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServer;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Very many acquisitions at a time for which no thread waits, on a real server. */
@Timeout(120)
@Tag("server")
class HandleStormTest {

    private static final int NAMES = 100;
    private static final int PENDING = 10_000;
    private static final int CANCELLED = 50_000;
    private static final int THREADS = 8;

    private final RedisServer server = RedisServer.start();
    private final RedisLocks locks = RedisLocks.connect(server.uri());
    private final RedisLocks others = RedisLocks.connect(server.uri());
    private final Jedis redis = new Jedis(URI.create(server.uri()));

    @AfterEach
    void close() {
        locks.close();
        others.close();
        redis.close();
        server.close();
    }

    /** All keys but those that remember last tokens. */
    private Set<String> keys() {
        return redis.keys("*").stream().filter(key -> !key.endsWith(":fence")).collect(Collectors.toSet());
    }

    private long threads() {
        String client = locks.clientId().replaceFirst(".*:", "");
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("redis-locks-"))
                .filter(thread -> thread.getName().endsWith(client))
                .count();
    }

    @Test
    void manyPending_areServedOneByOne_byFewThreads() throws Exception {
        List<LockHandle> held = new ArrayList<>();
        for (int i = 0; i < NAMES; i++) {
            held.add(others.acquire("n" + i));
        }
        AtomicIntegerArray inside = new AtomicIntegerArray(NAMES);
        List<CompletableFuture<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < PENDING; i++) {
            int name = i % NAMES;
            all.add(locks.acquireAsync("n" + name).thenCompose(handle -> {
                assertThat(inside.incrementAndGet(name)).as("at a time").isOne();
                return CompletableFuture.supplyAsync(() -> inside.decrementAndGet(name))
                        .thenCompose(left -> handle.releaseAsync());
            }));
        }
        await().until(() -> redis.keys("*:queue").size() == NAMES);
        assertThat(threads()).isLessThanOrEqualTo(THREADS);
        for (LockHandle each : held) {
            each.close();
        }
        for (CompletableFuture<Boolean> each : all) {
            assertThat(each.get(100, TimeUnit.SECONDS)).isTrue();
        }
        await().untilAsserted(() -> assertThat(keys()).isEmpty());
    }

    @Test
    void manyCancelled_leaveNothing() throws Exception {
        LockHandle held = others.acquire("busy");
        for (int i = 0; i < CANCELLED; i++) {
            String name = i % 5 == 0 ? "free" + i % NAMES : "busy";
            CompletableFuture<LockHandle> future = locks.acquireAsync(name);
            if (!future.cancel(true)) {
                future.join().close();
            }
        }
        held.close();
        await().atMost(Duration.ofSeconds(60))
                .untilAsserted(() -> assertThat(keys()).isEmpty());
        try (LockHandle next = others.acquire("busy")) {
            assertThat(next.isHeld()).isTrue();
        }
    }

    /** More than its requests get a turn for in the time that a close gives them. */
    @Test
    void close_whileTheServerHangs_failsAllThatWait() throws Exception {
        locks.acquireAsync("warm").get(30, TimeUnit.SECONDS).close();
        LockHandle held = locks.acquire("held");
        server.pause();
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (int i = 0; i < PENDING; i++) {
            all.add(locks.acquireAsync("n" + i));
        }
        all.add(held.releaseAsync().toCompletableFuture());
        locks.close();
        await().untilAsserted(() -> assertThat(all).allMatch(CompletableFuture::isDone));
        server.resume();
    }

    @Test
    void forced_isToldAtOnce() throws Exception {
        LockHandle held = locks.acquire("job");
        CompletableFuture<LockLost> lost = held.lost().toCompletableFuture();
        await().until(() -> redis.pubsubChannels("redis-locks:mailbox:*").size() > 0);
        assertThat(others.reentrantLock("job").forceUnlock()).isTrue();
        // The next renewal would be due in ten seconds.
        assertThat(lost.get(5, TimeUnit.SECONDS).reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(held.release()).isFalse();
    }
}
