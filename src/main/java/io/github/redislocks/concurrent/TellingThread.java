package io.github.redislocks.concurrent;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A thread that runs code of the user, one task after the other, so that no slow listener delays the library. It starts
 * when there is something to tell, and ends after a second without. The queue's bound is that of what is told.
 */
public final class TellingThread {

    /** Not a lambda: it may be linked first when there is no memory. */
    private static final Runnable NOTHING = new Runnable() {
        @Override
        public void run() {}
    };

    private final String whom;
    private final BlockingQueue<Runnable> queue = new ParkingQueue<>();
    private final ThreadPoolExecutor executor;

    /** Whom: who is told, for the log. */
    public TellingThread(String whom, ThreadFactory threads) {
        this.whom = whom;
        this.executor = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, queue, threads);
        executor.allowCoreThreadTimeOut(true);
    }

    /** Runs a task when those before it have ended. The task must not throw. */
    public void add(Runnable task) {
        queue(task);
        start();
    }

    /** As above, once the thread has been started. */
    void queue(Runnable task) {
        queue.add(task);
    }

    /** Starts the thread if it has something to tell; to be said again if the system had no thread to give. */
    public void start() {
        if (!queue.isEmpty() && executor.getPoolSize() == 0) {
            try {
                executor.prestartCoreThread();
            } catch (OutOfMemoryError | RuntimeException noThread) {
                Loggers.LOSS.warn("No thread can be started to tell the {}; it is tried again", whom);
            }
        }
    }

    /** Lets what was added so far be told, for a time. */
    public void await(Duration limit) {
        if (!isTold(limit)) {
            Loggers.LOSS.warn("One of the {} is still busy; it goes on while the client closes", whom);
        }
    }

    /** As above; returns whether all was told, or the wait was interrupted. */
    boolean isTold(Duration limit) {
        start();
        if (executor.getPoolSize() == 0) {
            return true;
        }
        try {
            executor.submit(NOTHING).get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new AssertionError("Nothing fails", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return true;
    }
}
