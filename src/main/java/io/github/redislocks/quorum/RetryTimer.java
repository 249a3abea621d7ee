package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.concurrent.Threads;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * Does what is to be done a moment later, by one thread for all masters of a quorum, from the first need on. No
 * ScheduledThreadPoolExecutor: its thread waits on a Condition of the JDK, whose first signal loses the thread for ever
 * if there is no memory for the head of a queue.
 */
public class RetryTimer {

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** In the order of their times, since all wait equally long. */
    private final ConcurrentLinkedQueue<Entry> entries = new ConcurrentLinkedQueue<>();

    private final AtomicBoolean started = new AtomicBoolean();
    private final DutyLoop loop;

    public RetryTimer(Threads threads) {
        loop = new DutyLoop(threads, "quorum", this::turn);
    }

    private record Entry(Runnable task, long atNanos) {}

    /**
     * Runs a task a moment later, unless this is closed then.
     *
     * @throws OutOfMemoryError if there is no thread or no memory for it
     */
    public void later(Runnable task) {
        if (loop.isClosed()) {
            return;
        }
        entries.add(new Entry(task, System.nanoTime() + PAUSE_NANOS));
        if (started.compareAndSet(false, true)) {
            start();
        }
        loop.wake();
    }

    private void start() {
        boolean begun = false;
        try {
            loop.start();
            begun = true;
        } finally {
            if (!begun) {
                started.set(false);
            }
        }
    }

    private void turn() {
        Entry first = entries.peek();
        if (first == null) {
            LockSupport.park(this);
            return;
        }
        long rest = first.atNanos - System.nanoTime();
        if (rest > 0) {
            LockSupport.parkNanos(this, rest);
            return;
        }
        entries.remove();
        first.task.run();
    }

    /** Waits for its thread once it is closed, for a time at most. An interrupt ends the wait and is kept. */
    void awaitEnd(Duration limit) {
        Threads.join(List.of(), loop.thread(), limit);
    }

    /** Does nothing any more. Does not wait for a task that runs. */
    public void close() {
        loop.close();
    }
}
