package io.github.redislocks.quorum;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A circuit breaker for one node of a quorum. While the node is down, one call at a time probes it, with exponential
 * backoff, and all other calls fail at once. So few calls wait for a node that is down.
 */
public final class CircuitBreaker {

    private static final long MIN_PAUSE_NANOS = 10_000_000;
    private static final long MAX_PAUSE_NANOS = 500_000_000;

    /** The time by which the current probe has to report its result; 0 if there is no probe. */
    private final AtomicLong probedUntilNanos = new AtomicLong();

    private volatile long pauseNanos;
    private volatile long notBeforeNanos;
    private volatile String lastFailure = "";

    /**
     * Whether a call may ask the node now. A call that may ask reports its result by {@link #answered}, {@link #failed}
     * or {@link #unknown}. If an error prevents the report, the next probe may start once the time of this call is
     * over.
     *
     * @param leftNanos how much time the call has
     */
    public boolean enter(long now, long leftNanos) {
        return pauseNanos == 0 || (now - notBeforeNanos >= 0 && startProbe(now, leftNanos));
    }

    private boolean startProbe(long now, long leftNanos) {
        long last = probedUntilNanos.get();
        long until = now + leftNanos;
        return (last == 0 || now - last >= 0) && probedUntilNanos.compareAndSet(last, until == 0 ? 1 : until);
    }

    private void endProbe() {
        if (probedUntilNanos.get() != 0) {
            probedUntilNanos.set(0);
        }
    }

    /** Whether all calls may ask the node. */
    public boolean isClosed() {
        return pauseNanos == 0;
    }

    public void answered() {
        if (pauseNanos != 0) {
            pauseNanos = 0;
        }
        endProbe();
    }

    public void failed(long now, String failure) {
        lastFailure = failure;
        // Calls that started together fail together, and count as one failure.
        if (pauseNanos == 0 || now - notBeforeNanos >= 0) {
            pauseNanos = pauseNanos == 0 ? MIN_PAUSE_NANOS : Math.min(2 * pauseNanos, MAX_PAUSE_NANOS);
            notBeforeNanos = now + pauseNanos;
        }
        endProbe();
    }

    /** Why calls fail at once: the text of the failure. */
    public String why() {
        return lastFailure + " (a moment ago)";
    }

    /** Whether a probe has been due for long, since no call came that had enough time for one. */
    boolean isOverdue(long now) {
        return pauseNanos != 0 && now - notBeforeNanos >= MAX_PAUSE_NANOS;
    }

    /**
     * Notes that a probe had too little time for a result. If the probe was overdue, the next one is overdue after the
     * longest pause.
     */
    public void unknown(long now) {
        if (isOverdue(now)) {
            notBeforeNanos = now;
        }
        endProbe();
    }
}
