package io.github.redislocks.concurrent;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Matters that one thread goes on with, each when there is news of it or its time has come. The thread exists as long
 * as there are matters. An error ends neither the thread nor a matter: what failed is tried again.
 */
public final class Agenda {

    /** Said by a matter that only news lets go on. */
    public static final long NEWS_ONLY = Long.MAX_VALUE;
    /** Said by a matter that has ended. */
    public static final long ENDED = -1;
    /** For how long a matter rests that met an error. */
    private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Clock clock;
    private final Threads threads;
    private final String role;
    private final Set<Matter> matters = ConcurrentHashMap.newKeySet();
    /** Held by who starts the thread or lets it end. */
    private final ReentrantLock starting = new ReentrantLock();

    private volatile @Nullable DutyLoop loop;

    public Agenda(Clock clock, Threads threads, String role) {
        this.clock = clock;
        this.threads = threads;
        this.role = role;
    }

    public Clock clock() {
        return clock;
    }

    public Threads threads() {
        return threads;
    }

    /** Something to go on with. */
    public abstract static class Matter {

        /** When the thread is to look at it. */
        private final AtomicLong dueNanos = new AtomicLong();

        /**
         * Does what can be done now, by the thread of the agenda; must not wait. If it throws, it is called again.
         *
         * @return when it wants to go on, by the clock; or {@link #NEWS_ONLY}, or {@link #ENDED}
         */
        protected abstract long goOn(long nowNanos);

        /** Asks it to end soon; returns at once. */
        protected abstract void wrapUp();
    }

    /**
     * Adds a matter, which the thread looks at for the first time when there is news of it.
     *
     * @throws OutOfMemoryError if the system gives no thread; the matter is not added
     */
    public void add(Matter matter) {
        matter.dueNanos.set(NEWS_ONLY);
        starting.lock();
        try {
            if (loop == null) {
                DutyLoop next = new DutyLoop(threads, role, this::turn);
                next.start();
                loop = next;
            }
            matters.add(matter);
        } finally {
            starting.unlock();
        }
    }

    /** Says that there is news of a matter. By any thread; needs no memory. */
    public void news(Matter matter) {
        matter.dueNanos.set(0);
        DutyLoop present = loop;
        if (present != null) {
            present.wake();
        }
    }

    /** Asks all matters to end soon; returns at once. */
    public void wrapUp() {
        for (Matter each : matters) {
            each.wrapUp();
        }
    }

    private void turn() {
        long now = clock.nanoTime();
        Steps.forEach(matters, each -> {
            if (each.dueNanos.get() <= now) {
                goOn(each, now);
            }
        });
        if (matters.isEmpty() && retire()) {
            return;
        }
        // What the matters did may have taken the permit of news that came meanwhile, so all are asked after it. An
        // interrupt means nothing here, and would end every wait.
        Thread.interrupted();
        long next = NEWS_ONLY;
        for (Matter each : matters) {
            next = Math.min(next, each.dueNanos.get());
        }
        clock.parkUntil(this, next);
    }

    private void goOn(Matter matter, long now) {
        matter.dueNanos.set(NEWS_ONLY);
        long next = now + AGAIN_NANOS;
        try {
            next = matter.goOn(now);
        } finally {
            if (next == ENDED) {
                matters.remove(matter);
            } else {
                // Not if there has been news since.
                matter.dueNanos.compareAndSet(NEWS_ONLY, next);
            }
        }
    }

    /** Ends the thread if there are no matters. */
    private boolean retire() {
        starting.lock();
        try {
            DutyLoop present = loop;
            if (!matters.isEmpty() || present == null) {
                return false;
            }
            present.close();
            loop = null;
            return true;
        } finally {
            starting.unlock();
        }
    }
}
