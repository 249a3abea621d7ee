package io.github.redislocks;

import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.twin.InMemoryRedis;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** Two clients of an in-memory Redis, and time that the test moves: of both and of the server. */
@Timeout(30)
abstract class FakeTime {

    static final String KEY = "redis-locks:{job}";

    final FakeClock clock = new FakeClock();
    final InMemoryRedis server = new InMemoryRedis(clock.server());
    final InMemoryRedis redis = server.another();
    final List<LockLost> losses = new CopyOnWriteArrayList<>();
    final RedisLocks locks = RedisLocks.on(redis, options(), losses::add, clock);
    final RedisLocks others = RedisLocks.on(server.another(), LockOptions.DEFAULTS, null, clock);
    final RedisReentrantLock lock = locks.reentrantLock("job");
    final RedisReentrantLock other = others.reentrantLock("job");

    /** The settings of the first client; those of the second are the defaults. */
    LockOptions options() {
        return LockOptions.DEFAULTS;
    }

    /** A thread of the first client that locks, tells what it has, and unlocks when told. */
    final class Waiter extends Thread {

        /** Whether it holds the lock, once lock() has returned. */
        final AtomicReference<Boolean> held = new AtomicReference<>();
        /** What was left of the lease then. */
        volatile Duration validity;

        volatile boolean release;

        @Override
        public void run() {
            lock.lock();
            validity = lock.remainingLease();
            held.set(lock.isHeldByCurrentThread());
            while (!release) {
                Thread.onSpinWait();
            }
            lock.unlock();
        }

        void startAndQueue() {
            start();
            await().until(() -> server.zset(KEY + ":queue").size() == 1);
            settle();
        }

        boolean holds() {
            return Boolean.TRUE.equals(held.get());
        }

        void end() throws InterruptedException {
            release = true;
            join();
        }
    }

    @AfterEach
    void close() {
        redis.heal();
        whileTimePasses(() -> true, this::closeAll);
    }

    private void closeAll() {
        locks.close();
        others.close();
        server.close();
    }

    /** Does what waits by the clock, which runs a little whenever the calling thread waits. */
    void whileTimePasses(Runnable action) {
        Thread caller = Thread.currentThread();
        whileTimePasses(() -> clock.isParked(caller) && isQuiet(), action);
    }

    /** Whether nothing is done in the background now, so that nobody waits for anything but time. */
    private boolean isQuiet() {
        for (RedisLocks client : List.of(locks, others)) {
            Watchdog watchdog = client.client().watchdog;
            Thread scheduler = watchdog.threads().get(0);
            if (scheduler.isAlive() && !(clock.isParked(scheduler) && watchdog.isIdle())) {
                return false;
            }
        }
        return true;
    }

    /** Does something while the clock runs a little whenever something is true. */
    void whileTimePasses(BooleanSupplier when, Runnable action) {
        Thread ticker = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                if (when.getAsBoolean()) {
                    clock.advanceMillis(1);
                }
                Thread.onSpinWait();
            }
        });
        ticker.start();
        try {
            action.run();
        } finally {
            ticker.interrupt();
        }
    }

    /** Moves time on and waits until everything that was due has been done. */
    void pass(long millis) {
        long end = clock.nanoTime() + millis * 1_000_000;
        settle();
        while (clock.nanoTime() < end) {
            long next = Math.min(end, Math.max(clock.nextWake(), clock.nanoTime() + 1));
            clock.advanceMillis(Math.max(1, (next - clock.nanoTime() + 999_999) / 1_000_000));
            settle();
        }
    }

    /** Moves time on until something is true, for what threads of the test's own do by it. */
    void passUntil(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            pass(20);
        }
    }

    /** Waits until the watchdogs that run have looked at everything twice since now, and have nothing to send. */
    void settle() {
        for (RedisLocks client : List.of(locks, others)) {
            Watchdog watchdog = client.client().watchdog;
            Thread scheduler = watchdog.threads().get(0);
            int quiet = scheduler.isAlive() ? 0 : 2;
            while (quiet < 2) {
                long parks = clock.parks(scheduler);
                watchdog.wakeAt(0);
                await().pollInterval(Duration.ofMillis(1)).until(() -> clock.parks(scheduler) > parks);
                quiet = watchdog.isIdle() ? quiet + 1 : 0;
            }
        }
    }
}
