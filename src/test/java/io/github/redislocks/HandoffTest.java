package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Successors that go at the moment at which an unlock names them, since their client closes. */
@Timeout(30)
class HandoffTest {

    private final InMemoryRedis redis = new InMemoryRedis();
    private final RedisLocks locks = RedisLocks.on(redis, Settings.DEFAULTS, List.of(), Clock.SYSTEM);
    private final RedisReentrantLock lock = locks.reentrantLock("job");

    @AfterEach
    void close() {
        redis.heal();
        locks.close();
        redis.close();
    }

    /** A thread that waits for the lock until the client is closed. */
    private Thread waiter() {
        Thread waiter = new Thread(() -> assertThatThrownBy(lock::lock).isInstanceOf(IllegalStateException.class));
        waiter.start();
        await().until(() -> waiter.getState() == Thread.State.WAITING);
        return waiter;
    }

    @Test
    void close_whileAnUnlockSendsItsSuccessorAway_leavesTheLockFree() throws InterruptedException {
        CountDownLatch locked = new CountDownLatch(1);
        CountDownLatch unlock = new CountDownLatch(1);
        Thread owner = new Thread(() -> {
            lock.lock();
            locked.countDown();
            await().until(() -> unlock.getCount() == 0);
            lock.unlock();
        });
        owner.start();
        locked.await();
        Thread successor = waiter();
        HeldCalls releases = redis.hold(verb("release"));
        unlock.countDown();
        releases.awaitParked(1, Duration.ofSeconds(10));
        Thread closer = new Thread(locks::close);
        closer.start();
        successor.join();
        // Redis makes the successor, which has gone, the owner; close() has time to end before that is put right.
        redis.hold(call -> call.script().name().equals("leave") && waitsFor(closer));
        releases.release();
        owner.join();
        closer.join();
        assertThat(redis.keys()).doesNotContain("redis-locks:{job}");
    }

    /** Waits for a time in which a thread ends if nothing keeps it; holds nothing back then. */
    private static boolean waitsFor(Thread thread) {
        try {
            thread.join(500);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return false;
    }
}
