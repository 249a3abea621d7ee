package io.github.redislocks.concurrent;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Decides when to log that a trouble began and that it is over: each once, and not too often. A trouble that begins
 * soon after another one was logged is logged only if it lasts.
 */
public final class TroubleNews {

    /** The least time between the logging of two troubles. */
    private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** When the trouble that was logged began; 0 if there is none. */
    private final AtomicLong sinceNanos = new AtomicLong();

    private volatile long toldNanos;

    /** Notes that there has been a trouble since the given time; true if the caller has to log it now. */
    public boolean isToBeTold(long since, long now) {
        long told = toldNanos;
        if (sinceNanos.get() != 0 || (told != 0 && now - told < AGAIN_NANOS) || !sinceNanos.compareAndSet(0, since)) {
            return false;
        }
        toldNanos = now;
        return true;
    }

    /** Whether a trouble was logged that has not ended. */
    public boolean isTold() {
        return sinceNanos.get() != 0;
    }

    /** Notes that there is no trouble; returns when the trouble that was logged began, or 0. */
    public long end() {
        long since = sinceNanos.get();
        return since != 0 && sinceNanos.compareAndSet(since, 0) ? since : 0;
    }
}
