package io.github.redislocks.concurrent;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;

/**
 * Wakes threads that wait until a condition is true. If the first signal of a
 * {@link java.util.concurrent.locks.Condition} of the JDK meets an {@link OutOfMemoryError}, the condition may lose the
 * waiter, which then polls without pause. With this class, a waiter at worst notices the change at its deadline.
 */
public final class Bell {

    private final Queue<Thread> waiting = new ConcurrentLinkedQueue<>();

    /** As {@link #await(long, BooleanSupplier, LongConsumer)}; the thread parks while it waits. */
    public boolean await(long deadlineNanos, BooleanSupplier news) {
        return await(deadlineNanos, news, nanos -> LockSupport.parkNanos(this, nanos));
    }

    /**
     * Waits until a condition is true, at most until {@code deadlineNanos} of {@link System#nanoTime}. An interrupt
     * does not end the wait; its flag is set again.
     *
     * @param news the condition, evaluated before waiting and again each time the bell rings
     * @param pause makes the thread wait until it is unparked, at most for the given time; may return earlier
     * @return the last value of the condition
     */
    public boolean await(long deadlineNanos, BooleanSupplier news, LongConsumer pause) {
        waiting.add(Thread.currentThread());
        boolean interrupted = false;
        try {
            boolean heard = news.getAsBoolean();
            long left = deadlineNanos - System.nanoTime();
            while (!heard && left > 0) {
                pause.accept(left);
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

    /** Has all waiting threads evaluate their condition again. */
    public void ring() {
        for (Thread waiter : waiting) {
            LockSupport.unpark(waiter);
        }
    }
}
