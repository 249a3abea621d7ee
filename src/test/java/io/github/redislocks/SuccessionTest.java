package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.twin.HeldCalls;
import io.github.redislocks.fixture.twin.InMemoryRedis;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Heirs that go at the moment at which an unlock names them. */
@Timeout(30)
class SuccessionTest {

    private final InMemoryRedis redis = new InMemoryRedis();
    private final RedisLocks locks = RedisLocks.on(redis, LockOptions.DEFAULTS, null, Clock.SYSTEM);
    private final RedisReentrantLock lock = locks.reentrantLock("job");

    @AfterEach
    void close() {
        redis.heal();
        locks.close();
        redis.close();
    }

    private Thread heir() {
        Thread heir = new Thread(() -> {
            try {
                lock.lockInterruptibly();
            } catch (InterruptedException e) {
                // Expected.
            }
        });
        heir.start();
        await().until(() -> heir.getState() == Thread.State.WAITING);
        return heir;
    }

    /** Interrupts an heir and waits for its end; so it does not. */
    private static boolean staysAlive(Thread heir) {
        heir.interrupt();
        try {
            heir.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return heir.isAlive();
    }

    @Test
    void unlock_heirsGoWhileTheyAreNamed_leavesTheLockFree() {
        lock.lock();
        Thread owner = Thread.currentThread();
        Thread first = heir();
        Thread second = heir();
        // Each goes when it has been named and the script that names it has not run.
        redis.hold(verb("release").and(call -> staysAlive(first)));
        redis.hold(call -> {
            if (!call.script().name().equals("leave")) {
                return false;
            }
            // What is left to the background comes late.
            return Thread.currentThread() != owner || staysAlive(second);
        });
        lock.unlock();
        assertThat(lock.isLocked()).isFalse();
        assertThat(lock.hasQueuedThreads()).isFalse();
        assertThat(redis.log().count("leave")).isEqualTo(2);
    }

    /** A thread that waits for the lock until the client is closed. */
    private Thread waiter() {
        Thread waiter = new Thread(() -> assertThatThrownBy(lock::lock).isInstanceOf(IllegalStateException.class));
        waiter.start();
        await().until(() -> waiter.getState() == Thread.State.WAITING);
        return waiter;
    }

    @Test
    void close_whileAnUnlockSendsItsHeirAway_leavesTheLockFree() throws InterruptedException {
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
        Thread heir = waiter();
        HeldCalls releases = redis.hold(verb("release"));
        unlock.countDown();
        releases.awaitParked(1, Duration.ofSeconds(10));
        Thread closer = new Thread(locks::close);
        closer.start();
        heir.join();
        // Redis makes the heir, which has gone, the owner; close() has time to end before that is put right.
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
