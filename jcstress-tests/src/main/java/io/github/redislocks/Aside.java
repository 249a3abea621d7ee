package io.github.redislocks;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;

/** Threads for what a test does beside its actors. There can be only as many actors as processors. */
final class Aside {

    private static final ExecutorService THREADS = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "aside");
        thread.setDaemon(true);
        return thread;
    });

    private Aside() {}

    /** A task that one of these threads runs. */
    record Task(Future<?> future) {

        /** Waits for the end of the task, and throws what the task threw. */
        void join() {
            try {
                future.get();
            } catch (InterruptedException | ExecutionException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static Task start(Runnable work) {
        return new Task(THREADS.submit(work));
    }

    /** Waits until a condition is true, for the given time at most. Returns whether it is true. */
    static boolean await(long nanos, BooleanSupplier condition) {
        long end = System.nanoTime() + nanos;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                return false;
            }
            Thread.yield();
        }
        return true;
    }
}
