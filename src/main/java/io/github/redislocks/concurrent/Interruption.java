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
 */
public final class Interruption {

    private static final int IDLE = 0;
    private static final int AT_WORK = 1;
    private static final int INTERRUPTING = 2;
    private static final int INTERRUPTED = 3;

    private final AtomicInteger state = new AtomicInteger(IDLE);
    private volatile @Nullable Thread thread;
    /** Whether others had interrupted the thread before. Written before INTERRUPTED. */
    private boolean wasInterrupted;

    /** The work begins, on the calling thread. */
    public void begin() {
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
        if (state.compareAndSet(AT_WORK, IDLE)) {
            return false;
        }
        // The interrupt is on its way, in another thread, and must not arrive after this method has returned.
        while (state.get() == INTERRUPTING) {
            Thread.onSpinWait();
        }
        if (!state.compareAndSet(INTERRUPTED, IDLE)) {
            return false;
        }
        if (!wasInterrupted) {
            boolean unused = Thread.interrupted();
        }
        return true;
    }
}
