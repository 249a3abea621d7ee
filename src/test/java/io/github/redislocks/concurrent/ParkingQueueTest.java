package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ParkingQueueTest {

    private static final int ELEMENTS = 100_000;
    private static final int TAKERS = 3;
    /** A thread may wake spuriously, or a little too early. */
    private static final long MOST_PARKED = 5;

    private final ParkingQueue<Integer> queue = new ParkingQueue<>();

    @Test
    void poll_ofAnEmptyQueue_returnsNullAfterItsTimeout() throws InterruptedException {
        long began = System.nanoTime();
        assertThat(queue.poll(20, TimeUnit.MILLISECONDS)).isNull();
        assertThat(System.nanoTime() - began).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(20));
    }

    @Test
    void poll_thatWaits_parks_andAnElementWakesIt() throws InterruptedException {
        AtomicReference<@Nullable Integer> taken = new AtomicReference<>();
        Thread taker = new Thread(() -> {
            try {
                taken.set(queue.take());
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        taker.start();
        await().until(() -> taker.getState() == Thread.State.TIMED_WAITING);
        assertThat(queue.offer(7)).isTrue();
        taker.join();
        assertThat(taken).hasValue(7);
    }

    /**
     * The number of parks shows a wait that polls, the processor time a wait that spins. A stall of the machine
     * increases neither.
     */
    @Test
    void poll_thatWaits_parksOnceAndUsesNoProcessorTime() throws InterruptedException {
        assertThat(queue.poll(1, TimeUnit.MILLISECONDS)).isNull();
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long parked = parked(threads);
        long used = threads.getCurrentThreadCpuTime();
        assertThat(queue.poll(400, TimeUnit.MILLISECONDS)).isNull();
        assertThat(threads.getCurrentThreadCpuTime() - used).isLessThan(TimeUnit.MILLISECONDS.toNanos(10));
        assertThat(parked(threads) - parked).isBetween(1L, MOST_PARKED);
    }

    private static long parked(ThreadMXBean threads) {
        return threads.getThreadInfo(Thread.currentThread().getId()).getWaitedCount();
    }

    @Test
    void poll_interrupted_throws() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> queue.poll(1, TimeUnit.HOURS)).isInstanceOf(InterruptedException.class);
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void take_byOneThread_getsEachElementOnceInOrder() throws InterruptedException {
        ConcurrentLinkedQueue<Integer> taken = new ConcurrentLinkedQueue<>();
        List<Thread> takers = new ArrayList<>();
        for (int i = 0; i < TAKERS; i++) {
            Thread taker = new Thread(() -> {
                try {
                    int element = queue.take();
                    while (element >= 0) {
                        taken.add(element);
                        element = queue.take();
                    }
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            taker.start();
            takers.add(taker);
        }
        for (int i = 0; i < ELEMENTS; i++) {
            queue.put(i);
            if (i % 1_000 == 0) {
                // Lets the taker wait now and then.
                await().pollInterval(1, TimeUnit.MILLISECONDS).until(queue::isEmpty);
            }
        }
        for (int i = 0; i < TAKERS; i++) {
            queue.put(-1);
        }
        for (Thread taker : takers) {
            taker.join();
        }
        assertThat(taken).hasSize(ELEMENTS).doesNotHaveDuplicates();
    }

    @Test
    void drainTo_withAMaximum_takesNoMore() {
        queue.addAll(List.of(1, 2, 3));
        List<Integer> drained = new ArrayList<>();
        assertThat(queue.drainTo(drained, 2)).isEqualTo(2);
        assertThat(drained).containsExactly(1, 2);
        assertThat(queue.remove(3)).isTrue();
        assertThat(queue).isEmpty();
        assertThat(queue.remainingCapacity()).isEqualTo(Integer.MAX_VALUE);
    }
}
