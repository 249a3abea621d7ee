package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.OneThreadExecutor;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.concurrent.Uninterruptibles;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs tasks after a short delay, on one thread for all nodes of a quorum. Not a ScheduledThreadPoolExecutor: if there
 * is no memory during the first signal of the Condition on which its thread waits, that thread may never wake.
 */
public class RetryTimer {

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long IDLE_SECONDS = 5;

    private final Set<Runnable> tasks = ConcurrentHashMap.newKeySet();
    private final Runnable turn = this::runTasks;
    private final OneThreadExecutor executor;

    public RetryTimer(Threads threads) {
        executor = new OneThreadExecutor(Integer.MAX_VALUE, IDLE_SECONDS, threads.factory("quorum"));
    }

    /**
     * Runs a task after a short delay. A task that is added twice before it has run runs once. Drops the task if this
     * timer is closed or no thread can be started.
     */
    public void later(Runnable task) {
        tasks.add(task);
        if (!executor.getQueue().isEmpty()) {
            // A run is queued already and will find the task. If an error has ended the thread, start it again.
            executor.revive();
            return;
        }
        try {
            executor.execute(turn);
        } catch (RejectedExecutionException e) {
            tasks.remove(task);
        }
    }

    private void runTasks() {
        long due = System.nanoTime() + PAUSE_NANOS;
        for (long left = PAUSE_NANOS; left > 0 && !tasks.isEmpty(); left = due - System.nanoTime()) {
            LockSupport.parkNanos(this, left);
            if (executor.isShutdown()) {
                return;
            }
        }
        for (Runnable task : List.copyOf(tasks)) {
            if (tasks.remove(task)) {
                task.run();
            }
        }
    }

    /** The number of runs that wait for the thread. */
    int waitingTurns() {
        return executor.getQueue().size();
    }

    /**
     * Waits, after {@link #close}, until the current task has ended, or until {@code limit} is over. An interrupt does
     * not end the wait; its flag is set again.
     */
    void awaitEnd(Duration limit) {
        boolean unused = Uninterruptibles.until(
                System.nanoTime() + limit.toNanos(), nanos -> executor.awaitTermination(nanos, TimeUnit.NANOSECONDS));
    }

    /** Runs no further task. Does not wait for the current one. */
    public void close() {
        executor.shutdownNow();
    }
}
