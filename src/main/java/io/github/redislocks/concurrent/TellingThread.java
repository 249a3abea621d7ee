package io.github.redislocks.concurrent;

import java.time.Duration;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A thread that runs code of the user, so that no slow listener delays the library. The thread starts when there is
 * something to tell, and ends after a second without. Tasks run one after the other, unless there may be more threads
 * than one: then a further thread goes on with the next tasks while a task blocks. The queue's bound is that of what is
 * told. Nothing is logged by the threads that add, start or wait: a logger may hang.
 */
public final class TellingThread {

    /** How soon a thread that waits tries again to start this one. */
    private static final long AGAIN_NANOS = 10_000_000;
    /** How often a further thread looks whether tasks end: a task that blocks delays those behind it by two looks. */
    private static final long LOOK_NANOS = 2_500_000;

    private final ParkingQueue<Runnable> queue = new ParkingQueue<>();
    private final ThreadFactory threads;
    private final int most;
    /** How many threads there are, and how many of them run a task. */
    private final AtomicInteger alive = new AtomicInteger();

    private final AtomicInteger running = new AtomicInteger();
    /** Where it says what it meets; null if this is the thread that logs, which says it itself. */
    private final @Nullable LateLog log;

    /** How many tasks have been added, and how many have ended. */
    private final AtomicLong added = new AtomicLong();

    private final AtomicLong ended = new AtomicLong();
    private final Bell oneEnded = new Bell();
    /** Whether it was noted that no thread could be started, since it last ran something. */
    private final AtomicBoolean refused = new AtomicBoolean();

    /** Made before it is needed, when there may be no memory. */
    private final Runnable noThread;

    private final Runnable busy;

    /**
     * Makes it; the first task starts the thread.
     *
     * @param whom who is told, for the log
     * @param most how many threads there may be at most
     */
    public TellingThread(String whom, int most, ThreadFactory threads, LateLog log) {
        this(log, whom, most, threads);
    }

    /** The thread that logs. */
    TellingThread(ThreadFactory threads) {
        this(null, "log", 1, threads);
    }

    private TellingThread(@Nullable LateLog log, String whom, int most, ThreadFactory threads) {
        this.log = log;
        this.most = most;
        this.threads = threads;
        this.noThread = () -> Loggers.LOSS.warn("No thread could be started to tell the {}; it is tried again", whom);
        this.busy = () -> Loggers.LOSS.warn("One of the {} is still busy; it goes on while the client closes", whom);
    }

    private void ended() {
        ended.incrementAndGet();
        try {
            oneEnded.ring();
            if (refused.compareAndSet(true, false) && log == null) {
                noThread.run();
            }
        } catch (Throwable notEvenLogged) {
            // As in Log. Who waits looks again soon.
        }
    }

    /** Runs a task when those before it have ended. The task must not throw. */
    public void add(Runnable task) {
        queue(task);
        start();
    }

    /** As above, once the thread has been started. */
    void queue(Runnable task) {
        added.incrementAndGet();
        try {
            queue.add(task);
        } catch (Throwable e) {
            added.decrementAndGet();
            throw e;
        }
    }

    /**
     * Starts a thread if a task waits and each thread is busy; to be said again if the system had no thread to give.
     */
    public void start() {
        int present = alive.get();
        boolean wanted = !queue.isEmpty() && running.get() >= present && present < most;
        if (!wanted || !alive.compareAndSet(present, present + 1)) {
            return;
        }
        boolean started = false;
        try {
            threads.newThread(this::work).start();
            started = true;
        } catch (OutOfMemoryError | RuntimeException notStarted) {
            if (refused.compareAndSet(false, true) && log != null) {
                log.add(noThread);
            }
        } finally {
            if (!started) {
                alive.decrementAndGet();
            }
        }
    }

    /** The work of each thread; a further thread waits until the others block. */
    private void work() {
        try {
            Runnable task = alive.get() > 1 ? nextOfBlocked() : next();
            while (task != null) {
                tell(task);
                task = next();
            }
        } finally {
            alive.decrementAndGet();
            // A task that came before the line above saw a thread that was free.
            start();
        }
    }

    /** Waits until no task has ended for a time, and returns the next; null if the other threads have taken all. */
    private @Nullable Runnable nextOfBlocked() {
        long before;
        do {
            before = ended.get();
            LockSupport.parkNanos(queue, LOOK_NANOS);
        } while (ended.get() != before && !queue.isEmpty());
        return queue.poll();
    }

    private @Nullable Runnable next() {
        // An interrupt by the code of a user means nothing here.
        Thread.interrupted();
        try {
            return queue.poll(1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            return queue.poll();
        }
    }

    private void tell(Runnable task) {
        running.incrementAndGet();
        try {
            // For a task that came before the line above, and saw a thread that was free.
            start();
        } finally {
            try {
                task.run();
            } finally {
                running.decrementAndGet();
                ended();
            }
        }
    }

    /** Lets what was added so far be told, for a time. */
    public void await(Duration limit) {
        if (!isTold(limit) && log != null) {
            log.add(busy);
        }
    }

    /** As above; returns whether all was told. An interrupt is kept, and does not shorten the wait. */
    boolean isTold(Duration limit) {
        long last = added.get();
        long deadline = System.nanoTime() + limit.toNanos();
        // Several threads end tasks in any order: then only the end of all tells that those before have ended.
        BooleanSupplier told = () -> ended.get() >= (most == 1 ? Math.min(last, added.get()) : added.get());
        boolean all = told.getAsBoolean();
        while (!all && deadline - System.nanoTime() > 0) {
            start();
            all = oneEnded.await(Math.min(deadline, System.nanoTime() + AGAIN_NANOS), told);
        }
        return all;
    }
}
