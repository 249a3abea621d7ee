package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.MultiLock;
import io.github.redislocks.MultiLockHandle;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServer;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Many threads of two clients that take overlapping sets of locks in any order, on a real server. */
@Timeout(120)
@Tag("server")
class MultiLockStormTest {

    private static final int NAMES = 5;
    private static final int THREADS = 8;
    private static final int ROUNDS = 150;

    private final RedisServer server = RedisServer.start();
    private final List<RedisLocks> clients =
            List.of(RedisLocks.connect(server.uri()), RedisLocks.connect(server.uri()));
    private final Jedis redis = new Jedis(URI.create(server.uri()));
    private final AtomicIntegerArray inside = new AtomicIntegerArray(NAMES);

    @AfterEach
    void close() {
        clients.forEach(RedisLocks::close);
        redis.close();
        server.close();
    }

    /** All keys but those that remember last tokens. */
    private Set<String> keys() {
        return redis.keys("*").stream().filter(key -> !key.endsWith(":fence")).collect(Collectors.toSet());
    }

    private void work(List<Integer> numbers) {
        for (int number : numbers) {
            assertThat(inside.incrementAndGet(number)).as("at a time").isOne();
        }
        for (int number : numbers) {
            inside.decrementAndGet(number);
        }
    }

    /** Takes some locks in one of the ways; returns whether it got them. */
    private boolean round(RedisLocks client, Random random) throws InterruptedException {
        List<Integer> numbers =
                new ArrayList<>(IntStream.range(0, NAMES).boxed().toList());
        Collections.shuffle(numbers, random);
        List<Integer> mine = numbers.subList(0, 2 + random.nextInt(2));
        List<String> names = mine.stream().map(number -> "n" + number).toList();
        MultiLock several = client.multiLock(List.of(names.toArray(new String[0])));
        switch (random.nextInt(5)) {
            case 0 -> several.lock();
            case 1 -> {
                if (!several.tryLock()) {
                    return false;
                }
            }
            case 2 -> {
                if (!several.tryLock(random.nextInt(5), TimeUnit.MILLISECONDS)) {
                    return false;
                }
            }
            case 3 -> {
                try (MultiLockHandle held = client.multiLock(names).acquire()) {
                    work(mine);
                    held.ensureHeld();
                }
                return true;
            }
            default -> {
                Optional<MultiLockHandle> held =
                        client.multiLock(names).tryAcquire(Duration.ofMillis(random.nextInt(5)));
                if (held.isEmpty()) {
                    return false;
                }
                work(mine);
                held.get().close();
                return true;
            }
        }
        work(mine);
        several.unlock();
        return true;
    }

    @Test
    void overlappingSets_inAnyOrder_areServedWithoutADeadlock() throws Exception {
        long seed = System.nanoTime();
        System.out.println("MultiLockStormTest: seed " + seed);
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<Integer>> all = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                RedisLocks client = clients.get(i % clients.size());
                Random random = new Random(seed + i);
                all.add(threads.submit(() -> {
                    int got = 0;
                    for (int round = 0; round < ROUNDS; round++) {
                        got += round(client, random) ? 1 : 0;
                    }
                    return got;
                }));
            }
            for (Future<Integer> each : all) {
                assertThat(each.get(100, TimeUnit.SECONDS)).as("got").isGreaterThan(ROUNDS / 5);
            }
        } finally {
            threads.shutdownNow();
        }
        await().untilAsserted(() -> assertThat(keys()).isEmpty());
    }

    @Test
    void interrupts_whileOthersAreWaitedFor_leaveNothing() throws Exception {
        for (int i = 0; i < 50; i++) {
            try (MultiLockHandle theirs =
                    clients.get(1).multiLock(List.of("n3")).acquire()) {
                Thread waiter = new Thread(() -> {
                    try {
                        clients.get(0)
                                .multiLock(List.of("n3", "n1", "n2"))
                                .acquire()
                                .close();
                    } catch (InterruptedException e) {
                        // As wanted.
                    }
                });
                waiter.start();
                if (i % 2 == 0) {
                    await().pollInterval(Duration.ofMillis(1)).until(() -> redis.exists("redis-locks:{n2}"));
                }
                waiter.interrupt();
                waiter.join();
                theirs.ensureHeld();
            }
        }
        await().untilAsserted(() -> assertThat(keys()).isEmpty());
    }
}
