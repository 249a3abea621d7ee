package io.github.redislocks.concurrent;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread that repeats one task until {@link #close}. After an error of the task, the thread pauses and repeats the
 * task.
 */
public final class DutyLoop {

    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long MAX_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Runnable task;
    private final Thread thread;
    private final String report;
    private volatile boolean closed;
    /** The pause after the next error; doubled at each error in a row. Used by this loop's thread only. */
    private long pauseNanos = MIN_PAUSE_NANOS;

    /**
     * Makes the thread; {@link #start} starts it.
     *
     * @param task may wait, but must return soon after {@link #close}, which unparks the thread
     */
    public DutyLoop(Threads threads, String role, Runnable task) {
        this.task = task;
        this.thread = threads.make(role, this::run);
        // Build the text here: with a full heap, an allocation by the thread outside of its try would end the thread.
        this.report = "The thread " + thread.getName() + " met an error and goes on";
    }

    /** Starts the thread; throws {@link OutOfMemoryError} if the system does not give one. */
    public void start() {
        thread.start();
    }

    /** Unparks the thread. */
    public void wake() {
        LockSupport.unpark(thread);
    }

    /** Stops the thread after the current run of the task, and unparks it. Does not wait for the thread. */
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }

    public boolean isClosed() {
        return closed;
    }

    /** The thread, so that callers can join it. */
    public Thread thread() {
        return thread;
    }

    private void run() {
        while (!closed) {
            try {
                task.run();
                pauseNanos = MIN_PAUSE_NANOS;
            } catch (Throwable e) {
                Loggers.INTERNAL.error(report, e);
                // Clear the interrupt flag, since park would return at once while it is set. Nobody relies on the flag
                // of this thread.
                Thread.interrupted();
                LockSupport.parkNanos(this, pauseNanos);
                pauseNanos = Math.min(2 * pauseNanos, MAX_PAUSE_NANOS);
            }
        }
    }
}
