package io.github.redislocks.concurrent;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread that repeats one task until it is closed. After any error, even one thrown by the logger, the thread pauses
 * and goes on with the next turn.
 */
public final class DutyLoop {

    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long MAX_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Runnable turn;
    private final Thread thread;
    private volatile boolean closed;
    /** Used by the thread itself only. */
    private long pauseNanos = MIN_PAUSE_NANOS;

    /**
     * Makes the thread; {@link #start} starts it.
     *
     * @param turn the task of one turn. It may wait, but must return soon after {@link #close}, which unparks the
     *     thread.
     */
    public DutyLoop(Threads threads, String role, Runnable turn) {
        this.turn = turn;
        this.thread = threads.make(role, this::run);
    }

    /** Starts the thread; throws {@link OutOfMemoryError} if the system does not give one. */
    public void start() {
        thread.start();
    }

    /** Unparks the thread. */
    public void wake() {
        LockSupport.unpark(thread);
    }

    /** Ends the thread after the current turn, and unparks it. Does not wait for it. */
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
        // Built now: with a full heap, an allocation in the catch would end the thread.
        String report = "The thread " + thread.getName() + " met an error and goes on";
        while (!closed) {
            try {
                turn.run();
                pauseNanos = MIN_PAUSE_NANOS;
            } catch (Throwable e) {
                Loggers.INTERNAL.error(report, e);
                // With the interrupt flag set, park would return at once; nobody relies on the flag of this thread.
                Thread.interrupted();
                LockSupport.parkNanos(this, pauseNanos);
                pauseNanos = Math.min(2 * pauseNanos, MAX_PAUSE_NANOS);
            }
        }
    }
}
