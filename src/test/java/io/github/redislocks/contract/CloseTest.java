package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Tests what closing a client ends, and that it leaves nothing behind. */
@Timeout(60)
@Tag("server")
class CloseTest {

    private static Set<Thread> ours() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("redis-locks"))
                .collect(Collectors.toSet());
    }

    private static long connections(Jedis jedis) {
        return jedis.clientList().lines().filter(line -> !line.isBlank()).count();
    }

    @Test
    void close_byTwoThreads_returnsToBothWhenAllIsClosed() throws Exception {
        CountDownLatch telling = new CountDownLatch(1);
        CountDownLatch told = new CountDownLatch(1);
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client()) {
            RedisLocks locks = RedisLocks.builder()
                    .uri(server.uri())
                    .commandTimeout(Duration.ofSeconds(20))
                    .onLockLost(loss -> {
                        telling.countDown();
                        try {
                            told.await();
                        } catch (InterruptedException e) {
                            Thread.currentThread().interrupt();
                        }
                    })
                    .build();
            locks.reentrantLock("held").lock();
            Thread first = new Thread(locks::close);
            first.start();
            telling.await();
            Thread second = new Thread(locks::close);
            second.start();
            await().until(() -> second.getState() == Thread.State.WAITING);
            told.countDown();
            second.join();
            assertThat(jedis.exists("redis-locks:{held}")).isFalse();
            first.join();
        }
    }

    @Test
    void close_withHoldsAndWaiters_tellsFreesAndLeavesNothing() throws InterruptedException {
        Set<Thread> before = ours();
        List<LockLost> losses = new CopyOnWriteArrayList<>();
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client()) {
            long connectionsBefore = connections(jedis);
            RedisLocks locks = RedisLocks.builder()
                    .uri(server.uri())
                    .onLockLost(losses::add)
                    .build();
            RedisLocks others = RedisLocks.connect(server.uri());
            RedisReentrantLock held = locks.reentrantLock("held");
            RedisReentrantLock elsewhere = others.reentrantLock("elsewhere");
            held.lock();
            held.lock();
            elsewhere.lock();
            AtomicInteger refused = new AtomicInteger();
            List<Thread> waiters = new ArrayList<>();
            for (String name : List.of("held", "held", "elsewhere", "elsewhere")) {
                Thread waiter = new Thread(() -> {
                    try {
                        locks.reentrantLock(name).lock();
                    } catch (IllegalStateException e) {
                        refused.incrementAndGet();
                    }
                });
                waiters.add(waiter);
                waiter.start();
            }
            await().until(() -> jedis.zcard("redis-locks:{elsewhere}:queue") == 1);
            await().until(() -> waiters.stream()
                    .allMatch(waiter -> waiter.getState() == Thread.State.WAITING
                            || waiter.getState() == Thread.State.TIMED_WAITING));

            locks.close();

            for (Thread waiter : waiters) {
                waiter.join(5_000);
            }
            assertThat(refused).hasValue(4);
            assertThat(losses)
                    .singleElement()
                    .satisfies(loss -> assertThat(loss.reason()).isEqualTo(LockLost.Reason.CLOSED));
            assertThat(jedis.exists("redis-locks:{held}")).isFalse();
            assertThat(jedis.zcard("redis-locks:{elsewhere}:queue")).isZero();
            assertThatThrownBy(held::unlock).isInstanceOf(LockLostException.class);
            assertThatThrownBy(held::lock).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> locks.reentrantLock("new")).isInstanceOf(IllegalStateException.class);
            locks.close();
            elsewhere.unlock();
            others.close();
            await().until(() -> before.containsAll(ours()));
            await().until(() -> connections(jedis) == connectionsBefore);
        }
    }

    @Test
    void close_whileRedisIsAway_ends() {
        Set<Thread> before = ours();
        try (RedisServer server = RedisServer.start()) {
            RedisLocks locks = RedisLocks.connect(server.uri());
            RedisReentrantLock lock = locks.reentrantLock("held");
            lock.lock();
            server.pause();
            long began = System.nanoTime();
            locks.close();
            assertThat((System.nanoTime() - began) / 1_000_000).isLessThan(5_000);
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            await().until(() -> before.containsAll(ours()));
            server.resume();
        }
    }

    @Test
    void threads_ofAClient_areMadeByTheUsersFactory_andNamedByTheClient() {
        Set<Thread> before = ours();
        Set<Thread> made = ConcurrentHashMap.newKeySet();
        try (RedisServer server = RedisServer.start();
                RedisLocks locks = RedisLocks.builder()
                        .uri(server.uri())
                        .threadFactory(work -> {
                            Thread thread = new Thread(work);
                            thread.setDaemon(true);
                            made.add(thread);
                            return thread;
                        })
                        .build();
                RedisLocks others = RedisLocks.builder()
                        .uri(server.uri())
                        .threadFactory(Thread::new)
                        .build()) {
            RedisReentrantLock lock = locks.reentrantLock("job");
            others.reentrantLock("job").lock();
            assertThat(lock.tryLock()).isFalse();
            Thread waiter = new Thread(lock::lock);
            waiter.start();
            await().until(() ->
                    made.stream().anyMatch(thread -> thread.getName().startsWith("redis-locks-mailbox")));
            others.reentrantLock("job").forceUnlock();
            waiter.join();
            String client = locks.clientId().substring(locks.clientId().lastIndexOf(':') + 1);
            assertThat(made)
                    .hasSizeGreaterThanOrEqualTo(3)
                    .allMatch(thread -> thread.getName().matches("redis-locks-[a-z]+(-.*)?-" + client));
            Set<Thread> all = ours();
            all.removeAll(before);
            assertThat(all.stream().filter(thread -> thread.getName().endsWith(client)))
                    .allMatch(made::contains);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
