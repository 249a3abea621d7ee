package io.github.redislocks.concurrent;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Runs the steps of several matters on one thread. A matter's next step runs when a thread has reported news of the
 * matter (something has changed for it), or when the step is due. The thread exists as long as there are matters. An
 * error stops neither the thread nor a matter: the thread repeats the step later.
 */
public final class Agenda {

    /** The result of {@link Matter#goOn} if the matter waits for news. */
    public static final long NEWS_ONLY = Long.MAX_VALUE;
    /** The result of {@link Matter#goOn} if the matter has no further steps. */
    public static final long ENDED = -1;
    /** The time after which the agenda repeats a step that threw an error. */
    private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Clock clock;
    private final Threads threads;
    private final String role;
    private final Set<Matter> matters = ConcurrentHashMap.newKeySet();
    /** Guards the start and the stop of the thread. */
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

    /** A sequence of steps. */
    public abstract static class Matter {

        /** When the next step is due. */
        private final AtomicLong dueNanos = new AtomicLong();

        /**
         * Takes the next step, on the thread of the agenda. Must not wait. If the step throws, the agenda calls this
         * method again.
         *
         * @return when the next step is due, by the clock; or {@link #NEWS_ONLY}, or {@link #ENDED}
         */
        protected abstract long goOn(long nowNanos);

        /** Asks the matter to finish soon; returns at once. */
        protected abstract void wrapUp();
    }

    /**
     * Adds a matter. The matter takes its first step, on the thread of the agenda, when news of the matter is reported.
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

    /** Reports news of a matter, from any thread. Allocates nothing. */
    public void news(Matter matter) {
        matter.dueNanos.set(0);
        DutyLoop present = loop;
        if (present != null) {
            present.wake();
        }
    }

    /** Asks all matters to finish soon; returns at once. */
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
        // Read the due times only after all steps: news() unparks this thread, but a step that parked may have consumed
        // that permit. Clear the interrupt flag, which means nothing here and would end every wait at once.
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
                // If news came during the step, the matter is due at once: do not overwrite that.
                matter.dueNanos.compareAndSet(NEWS_ONLY, next);
            }
        }
    }

    /** Stops the thread if there are no matters. */
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
