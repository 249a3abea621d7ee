package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class BellTest {

    private static final long LONG = Duration.ofSeconds(20).toNanos();

    private final Bell bell = new Bell();
    private final AtomicBoolean news = new AtomicBoolean();
    private final AtomicInteger looks = new AtomicInteger();

    private boolean look() {
        looks.incrementAndGet();
        return news.get();
    }

    private static void awaitParked(Thread thread) {
        await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
    }

    @Test
    void ring_wakesAllWaiters_andAFalseConditionWaitsOn() throws InterruptedException {
        AtomicInteger heard = new AtomicInteger();
        Runnable wait = () -> heard.addAndGet(bell.await(System.nanoTime() + LONG, this::look) ? 1 : 0);
        Thread one = new Thread(wait);
        Thread two = new Thread(wait);
        one.start();
        two.start();
        awaitParked(one);
        awaitParked(two);
        bell.ring();
        await().until(() -> looks.get() >= 4);
        assertThat(heard).hasValue(0);
        news.set(true);
        bell.ring();
        one.join();
        two.join();
        assertThat(heard).hasValue(2);
    }

    @Test
    void await_ofATrueCondition_doesNotWait() {
        news.set(true);
        assertThat(bell.await(System.nanoTime() + LONG, this::look)).isTrue();
        assertThat(bell.await(System.nanoTime() - 1, this::look)).isTrue();
    }

    @Test
    void await_afterItsDeadline_isFalse() {
        assertThat(bell.await(System.nanoTime() + 1_000_000, this::look)).isFalse();
        assertThat(bell.await(System.nanoTime() - 1, this::look)).isFalse();
    }

    @Test
    void await_interrupted_waitsOnAndKeepsTheInterrupt() throws InterruptedException {
        AtomicBoolean kept = new AtomicBoolean();
        Thread waiter = new Thread(() -> {
            boolean heard = bell.await(System.nanoTime() + LONG, this::look);
            kept.set(heard && Thread.currentThread().isInterrupted());
        });
        waiter.start();
        awaitParked(waiter);
        waiter.interrupt();
        await().until(() -> looks.get() >= 2);
        awaitParked(waiter);
        news.set(true);
        bell.ring();
        waiter.join();
        assertThat(kept).isTrue();
    }
}
