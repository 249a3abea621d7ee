package io.github.redislocks.concurrent;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RejectedExecutionHandler;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** A pool whose threads survive their tasks: an error of a task is logged, and the thread takes the next task. */
class WorkerPool extends ThreadPoolExecutor {

    WorkerPool(
            int core,
            int most,
            long idleSeconds,
            BlockingQueue<Runnable> queue,
            ThreadFactory threads,
            RejectedExecutionHandler refusal) {
        super(core, most, idleSeconds, TimeUnit.SECONDS, queue, threads, refusal);
    }

    /**
     * Runs a task. Refuses it if the pool is closed or has no room, or if the system gives no thread. In the last case
     * the task may still run when a thread can be started.
     *
     * @throws RejectedExecutionException if the task was not taken; the cause is the error if no thread could be
     *     started
     */
    @Override
    public final void execute(Runnable task) {
        try {
            super.execute(() -> run(task));
        } catch (RejectedExecutionException refused) {
            throw refused;
        } catch (RuntimeException | Error noThread) {
            // A thread factory of the user may throw anything, which counts as a refusal.
            throw new RejectedExecutionException("no thread could be started: " + noThread.getMessage(), noThread);
        }
    }

    private static void run(Runnable task) {
        boolean unused = Loggers.INTERNAL.guard(task, Thread.currentThread().getName(), (each, thread) -> each.run());
    }
}
