package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.twin.InMemoryRedis;
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
        redis.hold(call -> call.script().name().equals("release") && staysAlive(first));
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
}
