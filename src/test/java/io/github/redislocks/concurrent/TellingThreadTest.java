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

/** {@link TellingThread} with several threads; {@code BusyCallbackTest} tests the handles that depend on it. */
@Timeout(60)
class TellingThreadTest {

    private static final Duration LONG = Duration.ofSeconds(50);

    private final CountDownLatch go = new CountDownLatch(1);
    private final TellingThread thread =
            new TellingThread("test", 1_000, Threads.DAEMONS.factory("test"), new LateLog(Threads.DAEMONS));

    private void block() {
        await().atMost(LONG).until(() -> go.getCount() == 0);
    }

    @Test
    void add_manyTasksThatDoNotBlock_needsFewThreads() {
        AtomicInteger atOnce = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        for (int i = 0; i < 3_000; i++) {
            thread.add(() -> {
                most.accumulateAndGet(atOnce.incrementAndGet(), Math::max);
                LockSupport.parkNanos(1_000_000);
                atOnce.decrementAndGet();
            });
        }
        assertThat(thread.isTold(LONG)).isTrue();
        // One, and others for the moments in which the system lets a thread stand still.
        assertThat(most.get()).isLessThanOrEqualTo(15);
    }

    @Test
    void add_behindTasksThatBlock_isTold() {
        AtomicInteger told = new AtomicInteger();
        for (int i = 0; i < 20; i++) {
            thread.add(this::block);
        }
        for (int i = 0; i < 100; i++) {
            thread.add(told::incrementAndGet);
        }
        await().atMost(LONG).until(() -> told.get() == 100);
        go.countDown();
        assertThat(thread.isTold(LONG)).isTrue();
    }

    @Test
    void isTold_whileALaterTaskEnds_waitsForTheEarlierOne() throws InterruptedException {
        AtomicBoolean ended = new AtomicBoolean();
        AtomicBoolean endedBefore = new AtomicBoolean();
        thread.add(() -> {
            block();
            ended.set(true);
        });
        Thread waiter = new Thread(() -> {
            boolean all = thread.isTold(LONG);
            endedBefore.set(all && ended.get());
        });
        waiter.start();
        await().until(() -> waiter.getState() == Thread.State.TIMED_WAITING);
        AtomicBoolean later = new AtomicBoolean();
        thread.add(() -> later.set(true));
        await().until(later::get);
        // So that a waiter that goes on too early does so before the task ends.
        waiter.join(300);
        go.countDown();
        waiter.join();
        assertThat(endedBefore).isTrue();
    }
}
