package io.github.redislocks.multijvm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.WorkerJvm;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** A process that is killed with kill -9 while it holds, or while it waits. */
@Timeout(90)
@Tag("server")
class KilledProcessTest {

    private static final Duration START = Duration.ofSeconds(30);
    private static final long LEASE_MILLIS = 3_000;

    private RedisServer server;
    private Jedis jedis;
    private RedisLocks locks;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        jedis = server.client();
        locks = RedisLocks.builder()
                .uri(server.uri())
                .lease(Duration.ofMillis(LEASE_MILLIS))
                .build();
    }

    @AfterEach
    void stop() {
        locks.close();
        jedis.close();
        server.close();
    }

    private WorkerJvm holder() {
        return WorkerJvm.start(Holder.class, server.uri(), "job", Long.toString(LEASE_MILLIS));
    }

    @Test
    void holderKilled_nextHasTheLockAtTheLeasesEnd() throws InterruptedException {
        try (WorkerJvm holder = holder()) {
            long token = Long.parseLong(holder.awaitLine("locked", START).substring("locked ".length()));
            RedisReentrantLock lock = locks.reentrantLock("job");
            long[] acquired = new long[1];
            boolean[] lost = new boolean[1];
            long[] next = new long[1];
            Thread waiter = new Thread(() -> {
                lock.lock();
                acquired[0] = System.nanoTime();
                lost[0] = lock.previousHolderLost();
                next[0] = lock.fencingToken();
                lock.unlock();
            });
            waiter.start();
            await().until(() -> jedis.zcard("redis-locks:{job}:queue") == 1);
            holder.kill9();
            long leaseEnd = System.nanoTime() + jedis.pttl("redis-locks:{job}") * 1_000_000;
            waiter.join(20_000);
            long late = (acquired[0] - leaseEnd) / 1_000_000;
            System.out.println("KilledProcessTest: lock taken " + late + " ms after the lease's end");
            assertThat(late).isBetween(-50L, 200L);
            assertThat(lost[0]).isTrue();
            assertThat(next[0]).isGreaterThan(token);
        }
    }

    @Test
    void waiterKilled_isSkippedAtOnce() throws InterruptedException {
        RedisReentrantLock lock = locks.reentrantLock("job");
        lock.lock();
        try (WorkerJvm first = holder()) {
            first.awaitLine("waiting", START);
            await().until(() -> jedis.zcard("redis-locks:{job}:queue") == 1);
            try (WorkerJvm second = holder()) {
                second.awaitLine("waiting", START);
                await().until(() -> jedis.zcard("redis-locks:{job}:queue") == 2);
                first.kill9();
                await().until(() -> jedis.pubsubNumSub(mailboxes()).values().stream()
                                .filter(subscribers -> subscribers > 0)
                                .count()
                        == 1);
                long released = System.nanoTime();
                lock.unlock();
                second.awaitLine("locked", Duration.ofSeconds(5));
                assertThat((System.nanoTime() - released) / 1_000_000)
                        .as("less than a claim or a heartbeat")
                        .isLessThan(1_000);
            }
        }
    }

    private String[] mailboxes() {
        return jedis.zrange("redis-locks:{job}:queue", 0, -1).stream()
                .map(place -> "redis-locks:mailbox:" + place.replaceFirst(":[^:]*:[^:]*$", ""))
                .toArray(String[]::new);
    }
}
