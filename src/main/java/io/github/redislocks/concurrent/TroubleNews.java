package io.github.redislocks.concurrent;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Decides when a log tells that something is in trouble, and that the trouble is over: each once, and not more often
 * than somebody wants to read. A trouble that begins soon after one that was told of is told of when it has lasted.
 */
public final class TroubleNews {

    /** How soon after a trouble was told of another one may be. */
    private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** Since when there is the trouble that was told of; 0 if there is none. */
    private final AtomicLong sinceNanos = new AtomicLong();

    private volatile long toldNanos;

    /** Notes that there is a trouble since a time; true if the caller is to tell of it now. */
    public boolean isToBeTold(long since, long now) {
        long told = toldNanos;
        if (sinceNanos.get() != 0 || (told != 0 && now - told < AGAIN_NANOS) || !sinceNanos.compareAndSet(0, since)) {
            return false;
        }
        toldNanos = now;
        return true;
    }

    /** Notes that there is no trouble; returns since when there was the one that was told of, or 0. */
    public long end() {
        long since = sinceNanos.get();
        return since != 0 && sinceNanos.compareAndSet(since, 0) ? since : 0;
    }
}
