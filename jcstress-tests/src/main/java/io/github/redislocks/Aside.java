package io.github.redislocks;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;

/** Threads for what a test needs beside its actors, of which it has as many as the machine has processors. */
final class Aside {

    private static final ExecutorService THREADS = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "aside");
        thread.setDaemon(true);
        return thread;
    });

    private Aside() {}

    /** Something that a thread of ours does. */
    record Task(Future<?> future) {

        /** Waits for its end; what it threw is thrown. */
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

    /** Waits until something is so, for a time; whether it is. */
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
