package io.github.redislocks.concurrent;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread that does one thing over and over until it is closed, whatever goes wrong: an error of any kind, thrown by a
 * turn or by the logger that is told of it, is followed by a pause and the next turn.
 */
public final class DutyLoop {

    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long MAX_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Runnable turn;
    private final Thread thread;
    private volatile boolean closed;
    /** Of the thread. */
    private long pauseNanos = MIN_PAUSE_NANOS;

    /**
     * Makes the thread; {@link #start} starts it.
     *
     * @param turn done over and over. It may wait, but it has to come back soon after {@link #close}, which unparks it.
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

    /** The turn that is being done is the last one; it is unparked. Does not wait for it. */
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }

    public boolean isClosed() {
        return closed;
    }

    /** The thread, to be waited for. */
    public Thread thread() {
        return thread;
    }

    private void run() {
        while (!closed) {
            try {
                turns();
            } catch (Throwable notEvenLogged) {
                // As long as there is no memory to say what went wrong, nothing more can be done than to go on.
                LockSupport.parkNanos(this, MAX_PAUSE_NANOS);
            }
        }
    }

    private void turns() {
        while (!closed) {
            try {
                turn.run();
                pauseNanos = MIN_PAUSE_NANOS;
            } catch (Throwable e) {
                Loggers.INTERNAL.error("The thread {} met an error and goes on", thread.getName(), e);
                // Nobody else interrupts it, and with the flag set no pause would be one.
                Thread.interrupted();
                LockSupport.parkNanos(this, pauseNanos);
                pauseNanos = Math.min(2 * pauseNanos, MAX_PAUSE_NANOS);
            }
        }
    }
}
