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
 * Runs tasks a moment later, on one thread for all masters of a quorum. A ScheduledThreadPoolExecutor would not do: its
 * thread waits on a Condition of the JDK, whose first signal loses the thread permanently if there is no memory for the
 * head of a queue.
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
     * Runs a task a moment later. A task that is added again before it has run runs only once. Forgets the task if this
     * timer is closed or no thread can be started.
     */
    public void later(Runnable task) {
        tasks.add(task);
        if (!executor.getQueue().isEmpty()) {
            // The queued run will find the task. Revive its thread, in case an error has ended it.
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
     * Waits after {@link #close} until the current task has ended, at most for {@code limit}. An interrupt does not end
     * the wait; its flag is set again.
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
