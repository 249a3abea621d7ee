package io.github.redislocks;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Whether one node of a quorum is worth asking. One that does not answer is asked by a single call at a time, after a
 * pause that doubles; all others do without it at once, so that what waits for it has a bound.
 */
final class Reachability {

    private static final long MIN_PAUSE_NANOS = 10_000_000;
    private static final long MAX_PAUSE_NANOS = 500_000_000;

    private final AtomicBoolean trying = new AtomicBoolean();
    private volatile long pauseNanos;
    private volatile long notBeforeNanos;
    private volatile String lastFailure = "";

    /** Whether to ask it now; whoever is told so must say what became of it. */
    boolean enter(long now) {
        return pauseNanos == 0 || (now - notBeforeNanos >= 0 && trying.compareAndSet(false, true));
    }

    void answered() {
        pauseNanos = 0;
        trying.set(false);
    }

    void failed(long now, String failure) {
        lastFailure = failure;
        // Calls that began together fail together: one failure.
        if (pauseNanos == 0 || now - notBeforeNanos >= 0) {
            pauseNanos = pauseNanos == 0 ? MIN_PAUSE_NANOS : Math.min(2 * pauseNanos, MAX_PAUSE_NANOS);
            notBeforeNanos = now + pauseNanos;
        }
        trying.set(false);
    }

    /** Why it is not asked. */
    String why() {
        return lastFailure + " (a moment ago)";
    }

    /** Nothing was learned: there was no time to. */
    void unknown() {
        trying.set(false);
    }
}
