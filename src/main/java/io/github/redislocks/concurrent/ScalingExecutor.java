package io.github.redislocks.concurrent;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * An executor that uses as few threads as its work needs. A task goes to an idle thread; only if none is idle a new
 * thread is started; only if the maximum of threads is reached the task waits. The JDK's executor starts core threads
 * although others are idle, and queues tasks before it starts threads beyond the core.
 *
 * <p>Of two tasks that come at the same moment one may wait although there is room for another thread.
 */
public final class ScalingExecutor extends ThreadPoolExecutor {

    /** The most tasks that may wait; beyond that, {@link #execute} throws {@link RejectedExecutionException}. */
    public static final int MAX_WAITING = 10_000;

    private final Semaphore waiting = new Semaphore(MAX_WAITING);

    public ScalingExecutor(int maxThreads, long idleSeconds, ThreadFactory threads) {
        super(1, maxThreads, idleSeconds, TimeUnit.SECONDS, new Handover(), threads);
        allowCoreThreadTimeOut(true);
        setRejectedExecutionHandler((task, executor) -> queue(task));
    }

    /**
     * Starts a thread if tasks wait and no thread is left, since each met an error and none could be started in its
     * place; else such tasks wait until the next one comes. Without cost if no task waits.
     */
    public void revive() {
        if (!getQueue().isEmpty()) {
            prestartCoreThread();
        }
    }

    /** A queue that accepts a task only if an idle thread takes it at once. */
    private static final class Handover extends ParkingQueue<Runnable> {

        @Override
        public boolean offer(Runnable task) {
            if (!hasTaker()) {
                return false;
            }
            enqueue(task);
            return true;
        }

        @Override
        public boolean add(Runnable task) {
            enqueue(task);
            return true;
        }
    }

    /** A task that waits for a thread. */
    private final class Waiting implements Runnable {

        private final Runnable task;

        Waiting(Runnable task) {
            this.task = task;
        }

        @Override
        public void run() {
            waiting.release();
            task.run();
        }
    }

    private void queue(Runnable task) {
        if (isShutdown()) {
            throw new RejectedExecutionException("closed");
        }
        if (!waiting.tryAcquire()) {
            throw new RejectedExecutionException("too many calls wait");
        }
        boolean queued = false;
        try {
            Waiting last = new Waiting(task);
            // Not offer(), which accepts no task that has to wait.
            getQueue().add(last);
            queued = true;
            if (isShutdown() && remove(last)) {
                queued = false;
                throw new RejectedExecutionException("closed");
            }
            // All threads may have ended in the meantime.
            prestartCoreThread();
        } finally {
            if (!queued) {
                waiting.release();
            }
        }
    }
}
