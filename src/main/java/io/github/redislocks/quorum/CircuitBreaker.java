package io.github.redislocks.quorum;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A circuit breaker for one node of a quorum: while the node is down, one call at a time probes it, with exponential
 * backoff; all other calls fail fast, so that what waits for the node has a bound.
 */
public final class CircuitBreaker {

    private static final long MIN_PAUSE_NANOS = 10_000_000;
    private static final long MAX_PAUSE_NANOS = 500_000_000;

    private final AtomicBoolean trying = new AtomicBoolean();
    private volatile long pauseNanos;
    private volatile long notBeforeNanos;
    private volatile String lastFailure = "";

    /** Whether to ask the node now; the caller that may ask must say what became of it. */
    public boolean enter(long now) {
        return pauseNanos == 0 || (now - notBeforeNanos >= 0 && trying.compareAndSet(false, true));
    }

    /** Whether all may ask. */
    public boolean isClosed() {
        return pauseNanos == 0;
    }

    public void answered() {
        if (pauseNanos != 0) {
            pauseNanos = 0;
        }
        if (trying.get()) {
            trying.set(false);
        }
    }

    public void failed(long now, String failure) {
        lastFailure = failure;
        // Calls that began together fail together: one failure.
        if (pauseNanos == 0 || now - notBeforeNanos >= 0) {
            pauseNanos = pauseNanos == 0 ? MIN_PAUSE_NANOS : Math.min(2 * pauseNanos, MAX_PAUSE_NANOS);
            notBeforeNanos = now + pauseNanos;
        }
        trying.set(false);
    }

    /** Why it is not asked. */
    public String why() {
        return lastFailure + " (a moment ago)";
    }

    /** Whether it could have been asked for long, and nobody with time to learn anything came. */
    boolean isOverdue(long now) {
        return pauseNanos != 0 && now - notBeforeNanos >= MAX_PAUSE_NANOS;
    }

    /** Nothing was learned: there was no time to. If it was overdue, it is so again after the longest pause. */
    public void unknown(long now) {
        if (isOverdue(now)) {
            notBeforeNanos = now;
        }
        trying.set(false);
    }
}
