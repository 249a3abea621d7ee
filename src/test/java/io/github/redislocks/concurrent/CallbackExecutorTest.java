package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of a {@link CallbackExecutor} with several threads; {@code BusyCallbackTest} tests callbacks of handles. */
@Timeout(60)
class CallbackExecutorTest {

    private static final Duration LONG = Duration.ofSeconds(50);

    private final CountDownLatch go = new CountDownLatch(1);
    private final CallbackExecutor executor = new CallbackExecutor("test", 1_000, Threads.DAEMONS.factory("test"));

    private void block() {
        await().atMost(LONG).until(() -> go.getCount() == 0);
    }

    @Test
    void add_manyTasksThatDoNotBlock_startsFewThreads() {
        AtomicInteger atOnce = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        for (int i = 0; i < 3_000; i++) {
            executor.add(() -> {
                most.accumulateAndGet(atOnce.incrementAndGet(), Math::max);
                LockSupport.parkNanos(1_000_000);
                atOnce.decrementAndGet();
            });
        }
        assertThat(executor.await(LONG)).isTrue();
        // A single thread, and others for the moments in which the system suspends it.
        assertThat(most.get()).isLessThanOrEqualTo(15);
    }

    @Test
    void add_behindTasksThatBlock_runsTheTask() {
        AtomicInteger count = new AtomicInteger();
        for (int i = 0; i < 20; i++) {
            executor.add(this::block);
        }
        for (int i = 0; i < 100; i++) {
            executor.add(count::incrementAndGet);
        }
        await().atMost(LONG).until(() -> count.get() == 100);
        go.countDown();
        assertThat(executor.await(LONG)).isTrue();
    }

    @Test
    void await_whileALaterTaskFinishes_waitsForTheEarlierOne() throws InterruptedException {
        AtomicBoolean finished = new AtomicBoolean();
        AtomicBoolean finishedBefore = new AtomicBoolean();
        executor.add(() -> {
            block();
            finished.set(true);
        });
        Thread waiter = new Thread(() -> {
            boolean all = executor.await(LONG);
            finishedBefore.set(all && finished.get());
        });
        waiter.start();
        await().until(() -> waiter.getState() == Thread.State.TIMED_WAITING);
        AtomicBoolean later = new AtomicBoolean();
        executor.add(() -> later.set(true));
        await().until(later::get);
        // Gives a waiter that returns too early the time to return.
        waiter.join(300);
        go.countDown();
        waiter.join();
        assertThat(finishedBefore).isTrue();
    }
}
