package io.github.redislocks.concurrent;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Wakes threads that wait until something is true. A {@link java.util.concurrent.locks.Condition} of the JDK loses its
 * waiter, which then looks for itself without rest, if its first signal meets an {@link OutOfMemoryError}; here the
 * worst is that a waiter finds out when its time is over.
 */
public final class Bell {

    private final Queue<Thread> waiting = new ConcurrentLinkedQueue<>();

    /**
     * Waits until something is true, at most until a time of {@link System#nanoTime}. An interrupt is kept.
     *
     * @param news looked at before it waits, and again whenever the bell is rung
     * @return whether it was true when it was last looked at
     */
    public boolean await(long deadlineNanos, BooleanSupplier news) {
        waiting.add(Thread.currentThread());
        boolean interrupted = false;
        try {
            boolean heard = news.getAsBoolean();
            long left = deadlineNanos - System.nanoTime();
            while (!heard && left > 0) {
                LockSupport.parkNanos(this, left);
                interrupted |= Thread.interrupted();
                heard = news.getAsBoolean();
                left = deadlineNanos - System.nanoTime();
            }
            return heard;
        } finally {
            waiting.remove(Thread.currentThread());
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Has all that wait look again. */
    public void ring() {
        for (Thread waiter : waiting) {
            LockSupport.unpark(waiter);
        }
    }
}
