package io.github.redislocks.concurrent;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;

/** An executor with one thread, which starts when a task comes and stops after {@code idleSeconds} without tasks. */
public final class OneThreadExecutor extends WorkerPool {

    /**
     * Makes the executor, without a thread.
     *
     * @param mostWaiting how many tasks may wait; {@link #execute} refuses further tasks
     */
    public OneThreadExecutor(int mostWaiting, long idleSeconds, ThreadFactory threads) {
        super(1, 1, idleSeconds, new ParkingQueue<>(mostWaiting), threads, (task, executor) -> {
            throw new RejectedExecutionException(executor.isShutdown() ? "closed" : "too many calls wait");
        });
        allowCoreThreadTimeOut(true);
    }

    /**
     * Starts the thread if tasks wait and there is none: an error may have ended the last thread when the system gave
     * no other. Costs nothing if no task waits.
     */
    public void revive() {
        if (!getQueue().isEmpty() && getPoolSize() == 0) {
            try {
                execute(() -> {});
            } catch (RejectedExecutionException noThread) {
                // Ignored: the next call of this method tries again.
            }
        }
    }
}
