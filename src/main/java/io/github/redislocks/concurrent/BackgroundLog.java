package io.github.redislocks.concurrent;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Writes log entries on its own thread. Threads that must not wait, such as those that renew, log here: an appender
 * that writes to a full pipe, or to a host that does not answer, may block for any time.
 */
public final class BackgroundLog {

    /** How many entries wait at most: a logger that hangs must not fill the memory. */
    private static final int MAX_WAITING = 100_000;

    private final int maxWaiting;
    private final CallbackExecutor executor;
    private final AtomicInteger waiting = new AtomicInteger();
    private final AtomicLong dropped = new AtomicLong();

    public BackgroundLog(Threads threads) {
        this(threads, MAX_WAITING);
    }

    BackgroundLog(Threads threads, int maxWaiting) {
        this.maxWaiting = maxWaiting;
        this.executor = new CallbackExecutor("log", 1, threads.factory("log"));
    }

    /** Queues an entry. Throws an {@link OutOfMemoryError} if there is no memory for it. */
    public void add(Runnable entry) {
        if (waiting.get() >= maxWaiting) {
            dropped.incrementAndGet();
            return;
        }
        executor.add(() -> write(entry));
        waiting.incrementAndGet();
    }

    private void write(Runnable entry) {
        waiting.decrementAndGet();
        entry.run();
        long missing = dropped.getAndSet(0);
        if (missing > 0) {
            Loggers.LOSS.warn("The logger took too long: {} entries were left out", missing);
        }
    }

    /** Starts the thread if entries wait and the system had no thread when they were added. */
    public void start() {
        executor.start();
    }

    /** Waits until the entries are written, at most for {@code limit}. Does not report whether they were. */
    public void await(Duration limit) {
        boolean unused = executor.await(limit);
    }
}
