package io.github.redislocks.concurrent;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Lets other threads interrupt one piece of work of a thread: once, and neither before nor after the work. An interrupt
 * that the work has not noticed is cleared at its end.
 *
 * <pre>
 *   IDLE          to AT_WORK                       begin
 *   AT_WORK       to INTERRUPTING, to INTERRUPTED  interrupt; end() waits until the interrupt has arrived
 *   AT_WORK       to IDLE                          end; from now on interrupt() does nothing
 * </pre>
 *
 * <p>Pieces of work may be nested on one thread. The end of the inner work clears only the interrupt of the inner work.
 */
public final class Interruption {

    private static final int IDLE = 0;
    private static final int AT_WORK = 1;
    private static final int INTERRUPTING = 2;
    private static final int INTERRUPTED = 3;

    private static final ThreadLocal<@Nullable Interruption> INNERMOST = new ThreadLocal<>();

    private final AtomicInteger state = new AtomicInteger(IDLE);
    private volatile @Nullable Thread thread;
    /**
     * Whether the thread's flag was set before {@link #interrupt} set it. Written before the state becomes INTERRUPTED.
     */
    private boolean wasInterrupted;
    /** The work around this one, on the same thread. */
    private @Nullable Interruption outer;

    /** Notes that the calling thread begins the work. */
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

    /**
     * Interrupts the thread if it is at work and was not interrupted by this method before; returns whether this call
     * did.
     */
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
     * Ends the work; the thread of the work calls this. From now on {@link #interrupt} does nothing. Clears the
     * interrupt flag if {@link #interrupt} set it and the work has not noticed. A flag that had been set before the
     * interrupt stays set.
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
        // Another thread is about to interrupt this thread: wait for that interrupt, which must not arrive after this
        // method has returned.
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

    /**
     * Whether an outer work was interrupted while the flag was set by the interrupt of this work. If so, the end of the
     * outer work clears the flag.
     */
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
