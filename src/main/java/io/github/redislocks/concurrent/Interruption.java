package io.github.redislocks.concurrent;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The right to interrupt one thread, once, for as long as an action runs on it. An interrupt that came too late to be
 * noticed by the action does not stay.
 *
 * <pre>
 *   ACTIVE  to FIRING, to FIRED   somebody interrupts; the end of the action waits until that is done
 *   ACTIVE  to ENDED              the action has ended; nobody interrupts any more
 * </pre>
 */
public final class Interruption {

    private static final int ACTIVE = 0;
    private static final int FIRING = 1;
    private static final int FIRED = 2;
    private static final int ENDED = 3;

    private final Thread thread = Thread.currentThread();
    private final AtomicInteger state = new AtomicInteger(ACTIVE);
    /** Whether the thread was interrupted by others before. Written before FIRED. */
    private boolean wasInterrupted;

    /** Interrupts the thread that made this, unless the action has ended or that was done before. For any thread. */
    public void fire() {
        if (state.compareAndSet(ACTIVE, FIRING)) {
            try {
                wasInterrupted = thread.isInterrupted();
                thread.interrupt();
            } finally {
                state.set(FIRED);
            }
        }
    }

    /**
     * Says that the action has ended; for the thread that made this. Afterwards nobody interrupts the thread. If
     * somebody did, and the action has not noticed, the thread is interrupted no more; unless others had interrupted it
     * before.
     *
     * @return whether the thread was interrupted by {@link #fire}
     */
    public boolean end() {
        if (state.compareAndSet(ACTIVE, ENDED)) {
            return false;
        }
        while (state.get() == FIRING) {
            Thread.onSpinWait();
        }
        if (state.get() != FIRED) {
            return false;
        }
        if (!wasInterrupted) {
            boolean unused = Thread.interrupted();
        }
        return true;
    }
}
