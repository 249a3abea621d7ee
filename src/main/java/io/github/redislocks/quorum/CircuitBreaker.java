package io.github.redislocks.quorum;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A circuit breaker for one node of a quorum: while the node is down, one call at a time probes it, with exponential
 * backoff; all other calls fail fast, which bounds the number of calls that wait for the node.
 */
public final class CircuitBreaker {

    private static final long MIN_PAUSE_NANOS = 10_000_000;
    private static final long MAX_PAUSE_NANOS = 500_000_000;

    /** The time by which the current probe has to report its result; 0 if there is none. */
    private final AtomicLong probedUntilNanos = new AtomicLong();

    private volatile long pauseNanos;
    private volatile long notBeforeNanos;
    private volatile String lastFailure = "";

    /**
     * Whether a call may ask the node now. The call reports its result by {@link #answered}, {@link #failed} or
     * {@link #unknown}. If an error prevents the report, the next probe may start once the time of this one is over.
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

    /** Why calls fail fast. */
    public String why() {
        return lastFailure + " (a moment ago)";
    }

    /** Whether a probe has been due for long, and no call with enough time for one came. */
    boolean isOverdue(long now) {
        return pauseNanos != 0 && now - notBeforeNanos >= MAX_PAUSE_NANOS;
    }

    /** Notes that a probe had no time to learn anything. An overdue probe is overdue again after the longest pause. */
    public void unknown(long now) {
        if (isOverdue(now)) {
            notBeforeNanos = now;
        }
        endProbe();
    }
}
