package io.github.redislocks.concurrent;

import java.io.Serial;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * An executor with as few threads as there is work for: a task goes to a thread that idles; another thread is started
 * only if none does; and a task waits only once there are as many threads as there may be. The executor of the JDK
 * starts threads until there are as many as there may be, whether others idle or not.
 *
 * <p>Its queue has no Condition, since an {@link OutOfMemoryError} at the first signal of one may lose a waiter for
 * good.
 */
public final class ScalingExecutor extends ThreadPoolExecutor {

    /** How many tasks may wait; beyond that, {@link #execute} throws {@link RejectedExecutionException}. */
    public static final int MAX_WAITING = 10_000;

    private final Semaphore waiting = new Semaphore(MAX_WAITING);

    public ScalingExecutor(int maxThreads, long idleSeconds, ThreadFactory threads) {
        super(1, maxThreads, idleSeconds, TimeUnit.SECONDS, new Handover(), threads);
        allowCoreThreadTimeOut(true);
        setRejectedExecutionHandler((task, executor) -> queue(task));
    }

    /** Takes a task only if a thread idles that takes it at once. */
    private static final class Handover extends LinkedTransferQueue<Runnable> {

        @Serial
        private static final long serialVersionUID = 1L;

        @Override
        public boolean offer(Runnable task) {
            return tryTransfer(task);
        }

        @Override
        public boolean add(Runnable task) {
            return super.offer(task);
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
            // Not offer(), which takes none that has to wait.
            getQueue().add(last);
            queued = true;
            if (isShutdown() && remove(last)) {
                queued = false;
                throw new RejectedExecutionException("closed");
            }
            // All threads may have ended just now.
            prestartCoreThread();
        } finally {
            if (!queued) {
                waiting.release();
            }
        }
    }
}
