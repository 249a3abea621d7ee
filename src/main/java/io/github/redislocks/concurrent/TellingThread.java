package io.github.redislocks.concurrent;

import java.time.Duration;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A thread that runs code of the user, one task after the other, so that no slow listener delays the library. It starts
 * when there is something to tell, and ends after a second without. The queue's bound is that of what is told. Nothing
 * is logged by the threads that add, start or wait: a logger may hang.
 */
public final class TellingThread {

    /** How soon a thread that waits tries again to start this one. */
    private static final long AGAIN_NANOS = 10_000_000;

    private final OneThreadExecutor executor;
    /** Where it says what it meets; null if this is the thread that logs, which says it itself. */
    private final @Nullable LateLog log;

    /** How many tasks have been added, and how many have ended: they run in their order. */
    private final AtomicLong added = new AtomicLong();

    private final AtomicLong ended = new AtomicLong();
    private final Bell oneEnded = new Bell();
    /** Whether it was noted that no thread could be started, since it last ran something. */
    private final AtomicBoolean refused = new AtomicBoolean();

    /** Made before it is needed, when there may be no memory. */
    private final Runnable noThread;

    private final Runnable busy;

    /** Whom: who is told, for the log. */
    public TellingThread(String whom, ThreadFactory threads, LateLog log) {
        this(log, whom, threads);
    }

    /** The thread that logs. */
    TellingThread(ThreadFactory threads) {
        this(null, "log", threads);
    }

    private TellingThread(@Nullable LateLog log, String whom, ThreadFactory threads) {
        this.log = log;
        this.noThread = () -> Loggers.LOSS.warn("No thread could be started to tell the {}; it is tried again", whom);
        this.busy = () -> Loggers.LOSS.warn("One of the {} is still busy; it goes on while the client closes", whom);
        this.executor = new OneThreadExecutor(Integer.MAX_VALUE, 1, threads) {
            @Override
            protected void afterExecute(Runnable task, @Nullable Throwable thrown) {
                ended();
            }
        };
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
            executor.getQueue().add(task);
        } catch (Throwable e) {
            added.decrementAndGet();
            throw e;
        }
    }

    /** Starts the thread if it has something to tell; to be said again if the system had no thread to give. */
    public void start() {
        try {
            executor.revive();
        } catch (OutOfMemoryError | RuntimeException notStarted) {
            if (refused.compareAndSet(false, true) && log != null) {
                log.add(noThread);
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
        BooleanSupplier told = () -> ended.get() >= Math.min(last, added.get());
        boolean all = told.getAsBoolean();
        while (!all && deadline - System.nanoTime() > 0) {
            start();
            all = oneEnded.await(Math.min(deadline, System.nanoTime() + AGAIN_NANOS), told);
        }
        return all;
    }
}
