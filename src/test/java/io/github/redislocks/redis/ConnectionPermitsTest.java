package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.redis.jedis.ConnectionPermits;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ConnectionPermitsTest {

    private static final long LONG = TimeUnit.SECONDS.toNanos(60);

    private final ConnectionPermits permits = new ConnectionPermits(1);
    private final Queue<String> served = new ConcurrentLinkedQueue<>();

    private static long soon(long nanos) {
        return System.nanoTime() + nanos;
    }

    /** A thread that waits in the queue for a permit, and keeps it. */
    private Thread waiting(String name) {
        Thread thread = new Thread(
                () -> {
                    if (permits.enter(soon(LONG))) {
                        served.add(name);
                    }
                },
                name);
        thread.start();
        await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
        return thread;
    }

    @Test
    void inLine_isOvertakenSoOftenAndNotMore_evenIfItNeverRuns() {
        assertThat(permits.enter(soon(LONG))).isTrue();
        ConnectionPermits.Waiter first = permits.join();
        ConnectionPermits.Waiter second = permits.join();
        for (int i = 0; i < ConnectionPermits.MOST_OVERTAKINGS; i++) {
            permits.leave();
            assertThat(first.isServed()).isFalse();
            assertThat(permits.enter(soon(0)))
                    .as("a running thread takes the permit")
                    .isTrue();
        }
        permits.leave();
        assertThat(first.isServed()).isTrue();
        assertThat(permits.enter(soon(0))).as("handed over").isFalse();
        permits.leave();
        assertThat(second.isServed()).isFalse();
        assertThat(permits.enter(soon(0))).isTrue();
    }

    /** The error stands for missing memory, which this code needs at no other point. */
    @Test
    void leave_meetsAnError_givesThePermitBack() {
        AtomicBoolean broken = new AtomicBoolean();
        ConnectionPermits one = new ConnectionPermits(1, new ConcurrentLinkedQueue<>() {
            @Override
            public boolean isEmpty() {
                if (broken.getAndSet(false)) {
                    throw new OutOfMemoryError("made by the test");
                }
                return super.isEmpty();
            }
        });
        assertThat(one.enter(soon(0))).isTrue();
        broken.set(true);
        assertThatThrownBy(one::leave).isInstanceOf(OutOfMemoryError.class);
        assertThat(one.enter(soon(0))).isTrue();
    }

    @Test
    void enter_deadlinePasses_isGoneAndcostsNoPermit() throws InterruptedException {
        assertThat(permits.enter(soon(LONG))).isTrue();
        assertThat(permits.enter(soon(1_000_000))).isFalse();
        Thread next = waiting("next");
        for (int i = 0; i <= ConnectionPermits.MOST_OVERTAKINGS; i++) {
            permits.leave();
            if (!permits.enter(soon(0))) {
                break;
            }
        }
        next.join();
        assertThat(served).containsExactly("next");
        permits.leave();
        assertThat(permits.enter(soon(0))).isTrue();
        assertThat(permits.enter(soon(0))).isFalse();
    }

    @Test
    void enter_interrupted_waitsOnAndKeepsTheInterrupt() throws InterruptedException {
        assertThat(permits.enter(soon(LONG))).isTrue();
        List<Boolean> seen = new ArrayList<>();
        Thread waiter = new Thread(() -> {
            seen.add(permits.enter(soon(LONG)));
            seen.add(Thread.currentThread().isInterrupted());
        });
        waiter.start();
        await().until(() -> waiter.getState() == Thread.State.TIMED_WAITING);
        waiter.interrupt();
        permits.leave();
        waiter.join();
        assertThat(seen).containsExactly(true, true);
    }

    @Test
    void manyThreadsAndDeadlines_neverMoreThanThePlacesAndNoneIsLost() throws InterruptedException {
        ConnectionPermits three = new ConnectionPermits(3);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            long limit = i % 2 == 0 ? 20_000 : LONG;
            Thread thread = new Thread(() -> {
                for (int round = 0; round < 5_000; round++) {
                    if (three.enter(soon(limit))) {
                        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                        inside.decrementAndGet();
                        three.leave();
                    }
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(most).hasValueLessThanOrEqualTo(3);
        for (int i = 0; i < 3; i++) {
            assertThat(three.enter(soon(0))).isTrue();
        }
        assertThat(three.enter(soon(0))).isFalse();
    }
}
