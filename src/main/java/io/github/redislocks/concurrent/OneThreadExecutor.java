package io.github.redislocks.concurrent;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;

/** An executor of one thread, which starts when there is a task and ends after a time without one. */
public final class OneThreadExecutor extends WorkerPool {

    /**
     * Makes the executor, without a thread.
     *
     * @param mostWaiting how many tasks may wait; {@link #execute} refuses those beyond that
     */
    public OneThreadExecutor(int mostWaiting, long idleSeconds, ThreadFactory threads) {
        super(1, 1, idleSeconds, new ParkingQueue<>(mostWaiting), threads, (task, executor) -> {
            throw new RejectedExecutionException(executor.isShutdown() ? "closed" : "too many calls wait");
        });
        allowCoreThreadTimeOut(true);
    }

    /**
     * Starts the thread if tasks wait without one: an error has ended the thread, and none could be started in its
     * place. Costs nothing if no task waits.
     */
    public void revive() {
        if (!getQueue().isEmpty()) {
            try {
                prestartCoreThread();
            } catch (Error noThread) {
                // The next call of this method tries again.
            }
        }
    }
}
