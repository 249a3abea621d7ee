package io.github.redislocks.concurrent;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Decides when to log the start and the end of a trouble, such as an outage: each once, and not too often. A trouble
 * that starts soon after another one was logged is logged only if it lasts.
 */
public final class LogLimiter {

    /** The least time between the log entries of two troubles. */
    private static final long MIN_DISTANCE_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** When the logged trouble started; 0 if there is none. */
    private final AtomicLong sinceNanos = new AtomicLong();

    private volatile long loggedNanos;

    /** Notes that there has been a trouble since the given time; returns true if the caller has to log it now. */
    public boolean start(long since, long now) {
        long logged = loggedNanos;
        if (sinceNanos.get() != 0
                || (logged != 0 && now - logged < MIN_DISTANCE_NANOS)
                || !sinceNanos.compareAndSet(0, since)) {
            return false;
        }
        loggedNanos = now;
        return true;
    }

    /** Whether a trouble that is not over was logged. */
    public boolean isLogged() {
        return sinceNanos.get() != 0;
    }

    /** Notes that there is no trouble; returns the time at which the logged trouble started, or 0 if there was none. */
    public long stop() {
        long since = sinceNanos.get();
        return since != 0 && sinceNanos.compareAndSet(since, 0) ? since : 0;
    }
}
