package io.github.redislocks.concurrent;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Runs code of the user on its own threads, so that no slow listener delays the library. A thread starts when a task
 * comes and stops after a second without a task. With one thread, the tasks run one after the other. With more, a
 * further thread runs the next tasks while a task blocks. The queue has no bound: the caller limits what it adds. No
 * method logs in the caller's thread, since a logger may hang.
 */
public final class CallbackExecutor {

    /** The time after which {@link #await} tries again to start a thread that the system refused. */
    private static final long RETRY_NANOS = 10_000_000;
    /**
     * How often a new, additional thread checks whether the running tasks finish. A task that blocks delays the next by
     * two checks.
     */
    private static final long CHECK_NANOS = 2_500_000;

    private static final long IDLE_SECONDS = 1;

    private final Queue<Runnable> queue = new ConcurrentLinkedQueue<>();
    /**
     * A permit for each task in the queue. A semaphore, since a waiter of a {@link java.util.concurrent.BlockingQueue}
     * of the JDK may never wake if an {@link OutOfMemoryError} hits the signal to it.
     */
    private final Semaphore queued = new Semaphore(0);

    private final String callbacks;
    private final int maxThreads;
    private final ThreadFactory factory;
    private final AtomicInteger threads = new AtomicInteger();
    /** How many threads run a task or are about to take one. */
    private final AtomicInteger running = new AtomicInteger();

    private final AtomicLong finished = new AtomicLong();
    private final Bell taskFinished = new Bell();
    /** Whether the system has refused a thread since the last task finished. */
    private final AtomicBoolean refused = new AtomicBoolean();

    /**
     * Creates an executor without a thread.
     *
     * @param callbacks says in the log whose code the tasks run
     * @param maxThreads how many threads may run tasks at a time
     */
    public CallbackExecutor(String callbacks, int maxThreads, ThreadFactory factory) {
        this.callbacks = callbacks;
        this.maxThreads = maxThreads;
        this.factory = factory;
    }

    /** Queues a task. Throws an {@link OutOfMemoryError} if there is no memory for the queue's entry. */
    public void add(Runnable task) {
        queue.add(task);
        queued.release();
        start();
    }

    /**
     * Starts a thread if a task waits and all threads are busy. If the system gives no thread, the tasks wait until the
     * next call, which need not come from {@link #add}.
     */
    public void start() {
        int present = threads.get();
        boolean wanted = !queue.isEmpty() && running.get() >= present && present < maxThreads;
        if (!wanted || !threads.compareAndSet(present, present + 1)) {
            return;
        }
        try {
            factory.newThread(this::work).start();
        } catch (Throwable noThread) {
            threads.decrementAndGet();
            refused.set(true);
        }
    }

    private void work() {
        try {
            if (threads.get() > 1) {
                awaitBlockedTasks();
            }
            while (take()) {
                runNext();
            }
        } finally {
            threads.decrementAndGet();
            // Start another thread if one is needed: an add() before the decrement saw this thread and may have started
            // none.
            start();
        }
    }

    /**
     * Waits until the running tasks seem to be blocked, that is, none has finished for {@code CHECK_NANOS}; or until
     * the queue is empty. Only then is this additional thread needed.
     */
    private void awaitBlockedTasks() {
        long before;
        do {
            before = finished.get();
            LockSupport.parkNanos(this, CHECK_NANOS);
        } while (finished.get() != before && !queue.isEmpty());
    }

    /** Waits for a task; returns false if none came in the idle time. */
    private boolean take() {
        // Clear the interrupt flag, which code of the user may have left set.
        Thread.interrupted();
        try {
            return queued.tryAcquire(IDLE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            return queued.tryAcquire();
        }
    }

    private void runNext() {
        running.incrementAndGet();
        try {
            Runnable task = queue.poll();
            // Start another thread if one is needed: the add() of a second task may have seen this thread idle and
            // started none. This thread is busy now.
            start();
            if (task != null) {
                Loggers.LOSS.guard(task, callbacks, (each, whose) -> each.run());
            }
        } finally {
            running.decrementAndGet();
            finished.incrementAndGet();
            taskFinished.ring();
        }
        if (refused.getAndSet(false)) {
            Loggers.LOSS.warn("No thread could be started for the {}: their callbacks were delayed", callbacks);
        }
    }

    /**
     * Waits until all tasks have finished, at most for {@code limit}; returns true if they have. An interrupt does not
     * end the wait; its flag is set again.
     */
    public boolean await(Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        // Look at the queue first: a thread counts as running before it takes a task from the queue.
        BooleanSupplier idle = () -> queue.isEmpty() && running.get() == 0;
        boolean all = idle.getAsBoolean();
        while (!all && deadline - System.nanoTime() > 0) {
            start();
            all = taskFinished.await(Math.min(deadline, System.nanoTime() + RETRY_NANOS), idle);
        }
        return all;
    }
}
