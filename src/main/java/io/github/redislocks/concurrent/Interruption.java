package io.github.redislocks.concurrent;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The right of others to interrupt a thread while it does one piece of work: once, and neither before nor after it. An
 * interrupt that came too late to be noticed by the work does not stay.
 *
 * <pre>
 *   IDLE          to AT_WORK                       begin
 *   AT_WORK       to INTERRUPTING, to INTERRUPTED  interrupt; the end of the work waits until that is done
 *   AT_WORK       to IDLE                          end: nobody interrupts any more
 * </pre>
 *
 * <p>Pieces of work may be nested, on one thread. What the inner one takes back at its end is its own interrupt only.
 */
public final class Interruption {

    private static final int IDLE = 0;
    private static final int AT_WORK = 1;
    private static final int INTERRUPTING = 2;
    private static final int INTERRUPTED = 3;

    private static final ThreadLocal<@Nullable Interruption> INNERMOST = new ThreadLocal<>();

    private final AtomicInteger state = new AtomicInteger(IDLE);
    private volatile @Nullable Thread thread;
    /** Whether others had interrupted the thread before. Written before INTERRUPTED. */
    private boolean wasInterrupted;
    /** That of the work inside of which this one is done; of the thread. */
    private @Nullable Interruption outer;

    /** The work begins, on the calling thread. */
    public void begin() {
        outer = INNERMOST.get();
        INNERMOST.set(this);
        thread = Thread.currentThread();
        state.set(AT_WORK);
    }

    /** Whether the calling thread is the one that does the work, or did. */
    public boolean isOfCaller() {
        return thread == Thread.currentThread();
    }

    /** Interrupts the thread if it is at work and has not been interrupted; true if this call did. */
    public boolean interrupt() {
        Thread worker = thread;
        if (worker == null || !state.compareAndSet(AT_WORK, INTERRUPTING)) {
            return false;
        }
        try {
            wasInterrupted = worker.isInterrupted();
            worker.interrupt();
        } finally {
            state.set(INTERRUPTED);
        }
        return true;
    }

    /**
     * To be called by the thread itself: from now on it is not interrupted. If it was, and the work has not noticed,
     * its flag is cleared, unless others had set it before.
     *
     * @return whether {@link #interrupt} has interrupted the work
     */
    public boolean end() {
        if (INNERMOST.get() == this) {
            leave();
        }
        if (state.compareAndSet(AT_WORK, IDLE)) {
            return false;
        }
        // The interrupt is on its way, in another thread, and must not arrive after this method has returned.
        awaitInterrupt();
        if (!state.compareAndSet(INTERRUPTED, IDLE)) {
            return false;
        }
        if (!wasInterrupted && !isOfOuterToo()) {
            boolean unused = Thread.interrupted();
        }
        outer = null;
        return true;
    }

    private void leave() {
        if (outer == null) {
            INNERMOST.remove();
        } else {
            INNERMOST.set(outer);
        }
    }

    private void awaitInterrupt() {
        while (state.get() == INTERRUPTING) {
            Thread.onSpinWait();
        }
    }

    /** Whether outer work was interrupted while the flag was set by this one: then it is the outer's to take back. */
    private boolean isOfOuterToo() {
        for (Interruption each = outer; each != null; each = each.outer) {
            each.awaitInterrupt();
            if (each.state.get() == INTERRUPTED && each.wasInterrupted) {
                each.wasInterrupted = false;
                return true;
            }
        }
        return false;
    }
}
