package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.CommandCount;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** The order and the cost of the fair lock, with two clients for two JVMs. */
@Timeout(120)
@Tag("server")
class FairOrderTest {

    private static final String QUEUE = "redis-locks:{item}:queue";

    private final List<Thread> threads = new ArrayList<>();
    private RedisServer server;
    private Jedis jedis;
    private RedisLocks here;
    private RedisLocks there;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        jedis = server.client();
        here = RedisLocks.connect(server.uri());
        there = RedisLocks.connect(server.uri());
    }

    @AfterEach
    void stop() {
        here.close();
        there.close();
        jedis.close();
        server.close();
    }

    private RedisReentrantLock lock(int number) {
        return (number % 2 == 0 ? here : there)
                .reentrantLock("item", LockOptions.defaults().fair(true));
    }

    /** Starts a thread and waits until it has its place. */
    private Thread queue(Runnable waiting) {
        long before = jedis.zcard(QUEUE);
        Thread thread = new Thread(waiting);
        threads.add(thread);
        thread.start();
        await().pollInterval(Duration.ofMillis(1)).until(() -> jedis.zcard(QUEUE) == before + 1);
        return thread;
    }

    private void join() throws InterruptedException {
        for (Thread thread : threads) {
            thread.join(60_000);
            assertThat(thread.isAlive()).isFalse();
        }
    }

    @Test
    void waiters_ofTwoClients_areServedInOrderOfArrival() throws InterruptedException {
        List<Integer> served = new CopyOnWriteArrayList<>();
        List<Integer> arrived = new ArrayList<>();
        here.reentrantLock("item", LockOptions.defaults().fair(true)).lock();
        for (int i = 0; i < 20; i++) {
            // Not alternating: 0 0 1 1 0 0 ...
            int number = i;
            RedisReentrantLock lock = lock(i / 2);
            arrived.add(i);
            queue(() -> {
                lock.lock();
                served.add(number);
                lock.unlock();
            });
        }
        here.reentrantLock("item", LockOptions.defaults().fair(true)).unlock();
        join();
        assertThat(served).isEqualTo(arrived);
        assertThat(jedis.keys("*")).containsExactly("redis-locks:{item}:fence");
    }

    @Test
    void waiterThatLeaves_costsTheOthersNothing() throws InterruptedException {
        List<String> served = new CopyOnWriteArrayList<>();
        here.reentrantLock("item", LockOptions.defaults().fair(true)).lock();
        Thread first = queue(() -> {
            try {
                there.reentrantLock("item", LockOptions.defaults().fair(true)).lockInterruptibly();
                served.add("interrupted");
            } catch (InterruptedException e) {
                served.add("left");
            }
        });
        queue(() -> {
            lock(0).lock();
            served.add("second");
            lock(0).unlock();
        });
        first.interrupt();
        first.join();
        // The thread has waited a moment for its leave, which goes on in the background if that was too short.
        await().until(() -> jedis.zcard(QUEUE) == 1);
        here.reentrantLock("item", LockOptions.defaults().fair(true)).unlock();
        join();
        assertThat(served).containsExactly("left", "second");
    }

    @Test
    void tryLock_timed_letsThoseGoFirstThatCameFirst_untimedBarges() throws Exception {
        RedisReentrantLock lock =
                here.reentrantLock("item", LockOptions.defaults().fair(true));
        lock.lock();
        // A place whose client cannot be told: the lock stays free, and the place is ahead.
        RedisLocks gone = RedisLocks.connect(server.uri());
        queue(() -> {
            try {
                gone.reentrantLock("item", LockOptions.defaults().fair(true)).lock();
            } catch (IllegalStateException e) {
                // The client is closed below.
            }
        });
        String waiter = jedis.zrange(QUEUE, 0, -1).get(0);
        String place = jedis.hget("redis-locks:{item}:waiters", waiter);
        gone.close();
        jedis.zadd(QUEUE, 1, waiter);
        jedis.hset("redis-locks:{item}:waiters", waiter, place);
        jedis.hset("redis-locks:{item}", "waited", "1");
        lock.unlock();
        assertThat(lock.isLocked()).isFalse();
        assertThat(there.reentrantLock("item", LockOptions.defaults().fair(true))
                        .tryLock(0, TimeUnit.SECONDS))
                .isFalse();
        assertThat(there.reentrantLock("item", LockOptions.defaults().fair(true))
                        .tryLock())
                .isTrue();
        there.reentrantLock("item", LockOptions.defaults().fair(true)).unlock();
    }

    @Test
    void handOff_costsTheSame_forTenWaitersAndForAThousand() throws InterruptedException {
        double ten = commandsPerHandOff(10);
        double thousand = commandsPerHandOff(1_000);
        System.out.printf(
                "FairOrderTest: %.1f looks and tokens per hand-off for 10 waiters, %.1f for 1,000%n", ten, thousand);
        assertThat(thousand).isLessThan(ten * 1.2);
    }

    /** Of the commands of hand-offs those that heartbeats, which go by time and not by turn, have no part in. */
    private double commandsPerHandOff(int waiting) throws InterruptedException {
        threads.clear();
        AtomicInteger served = new AtomicInteger();
        here.reentrantLock("item", LockOptions.defaults().fair(true)).lock();
        for (int i = 0; i < waiting; i++) {
            RedisReentrantLock lock = lock(i);
            Thread thread = new Thread(() -> {
                lock.lock();
                served.incrementAndGet();
                lock.unlock();
            });
            threads.add(thread);
            thread.start();
        }
        await().atMost(Duration.ofSeconds(30)).until(() -> jedis.zcard(QUEUE) == waiting);
        try (CommandCount commands = CommandCount.on(server)) {
            commands.reset();
            here.reentrantLock("item", LockOptions.defaults().fair(true)).unlock();
            join();
            assertThat(served).hasValue(waiting);
            // Only a hand-off looks at the line, page by page, and writes a token.
            return (commands.of("zrange") + commands.of("set")) / (double) waiting;
        }
    }
}
