package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.CommandCount;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.RequestCount;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** The requests that locking costs Redis: per lock and unlock, per hand-off, and while threads wait. */
@Timeout(60)
@Tag("server")
class CostTest {

    private RedisServer server;
    private Jedis jedis;
    private RedisLocks locks;
    private RedisLocks others;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        jedis = server.client();
        locks = RedisLocks.connect(server.uri());
        others = RedisLocks.connect(server.uri());
    }

    @AfterEach
    void stop() {
        locks.close();
        others.close();
        jedis.close();
        server.close();
    }

    @Test
    void lockAndUnlock_uncontended_areTwoRequestsAndLeaveOnlyTheFence() {
        RedisReentrantLock lock = locks.reentrantLock("item");
        lock.lock();
        lock.unlock();
        try (RequestCount requests = RequestCount.on(server);
                CommandCount commands = CommandCount.on(server)) {
            commands.reset();
            for (int i = 0; i < 10; i++) {
                lock.lock();
                lock.unlock();
            }
            assertThat(requests.of("evalsha")).isEqualTo(20);
            assertThat(commands.of("evalsha")).isEqualTo(20);
            assertThat(commands.all().keySet())
                    .as("all that is done")
                    .containsExactlyInAnyOrder(
                            "evalsha",
                            "time",
                            "get",
                            "hset",
                            "pexpire",
                            "set",
                            "hmget",
                            "del",
                            "append",
                            // Of the count itself.
                            "echo");
            assertThat(commands.of("publish")).isZero();
            assertThat(commands.of("script")).isZero();
        }
        assertThat(jedis.keys("*")).containsExactly("redis-locks:{item}:fence");
        assertThat(jedis.pttl("redis-locks:{item}:fence")).isBetween(99_000_000L, 100_000_000L);
    }

    @Test
    void reentry_isOneRequestEach_andCountsInRedis() {
        RedisReentrantLock lock = locks.reentrantLock("item");
        lock.lock();
        try (CommandCount commands = CommandCount.on(server)) {
            commands.reset();
            lock.lock();
            lock.lock();
            assertThat(jedis.hget("redis-locks:{item}", "holds")).isEqualTo("3");
            lock.unlock();
            assertThat(jedis.hget("redis-locks:{item}", "holds")).isEqualTo("2");
            lock.unlock();
            assertThat(commands.of("evalsha")).isEqualTo(4);
            assertThat(commands.of("hincrby")).isEqualTo(4);
        }
        lock.unlock();
        assertThat(jedis.exists("redis-locks:{item}")).isFalse();
    }

    @Test
    void waiters_ofOneClient_areOnePlaceAndSendHeartbeatsOnly() throws InterruptedException {
        int waiting = 200;
        others.reentrantLock("item").lock();
        AtomicInteger served = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        RedisReentrantLock lock = locks.reentrantLock("item");
        for (int i = 0; i < waiting; i++) {
            Thread thread = new Thread(() -> {
                lock.lock();
                served.incrementAndGet();
                lock.unlock();
            });
            threads.add(thread);
            thread.start();
        }
        await().until(() -> jedis.zcard("redis-locks:{item}:queue") == 1);
        await().until(() -> threads.stream().allMatch(thread -> thread.getState() == Thread.State.WAITING));
        try (CommandCount commands = CommandCount.on(server)) {
            commands.reset();
            await().atMost(Duration.ofSeconds(10)).until(() -> commands.of("evalsha") >= 3);
            Duration threeHeartbeats = Duration.ofMillis(3 * 1_500);
            assertThat(jedis.zcard("redis-locks:{item}:queue")).isEqualTo(1);
            commands.reset();
            await().during(threeHeartbeats)
                    .atMost(threeHeartbeats.plusSeconds(2))
                    .until(() -> commands.of("evalsha") <= 4);
        }
        assertThat(served).hasValue(0);
        others.reentrantLock("item").unlock();
        for (Thread thread : threads) {
            thread.join(20_000);
        }
        assertThat(served).hasValue(waiting);
    }

    @Test
    void handOver_toAWaiterOfAnotherClient_takesNoRequestOfTheWaiter() throws InterruptedException {
        RedisReentrantLock holder = others.reentrantLock("item");
        RedisReentrantLock waiter = locks.reentrantLock("item");
        holder.lock();
        long before = holder.fencingToken();
        CountDownLatch acquired = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        List<Object> seen = new ArrayList<>();
        Thread thread = new Thread(() -> {
            waiter.lock();
            seen.add(waiter.fencingToken());
            seen.add(waiter.remainingLease());
            acquired.countDown();
            try {
                release.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            waiter.unlock();
        });
        thread.start();
        await().until(() -> jedis.zcard("redis-locks:{item}:queue") == 1);
        try (CommandCount commands = CommandCount.on(server)) {
            commands.reset();
            holder.unlock();
            acquired.await();
            assertThat(commands.of("evalsha")).as("the release alone").isEqualTo(1);
            assertThat(commands.of("publish")).isEqualTo(1);
        }
        assertThat((Long) seen.get(0)).isGreaterThan(before);
        assertThat((Duration) seen.get(1)).isBetween(Duration.ofMillis(1), Duration.ofMillis(4_500));
        // The claim becomes the lease when it is confirmed, off the way of lock().
        await().atMost(Duration.ofSeconds(5)).until(() -> jedis.pttl("redis-locks:{item}") > 20_000);
        release.countDown();
        thread.join(10_000);
        assertThat(jedis.exists("redis-locks:{item}")).isFalse();
    }
}
