package io.github.redislocks.state;

import java.util.concurrent.atomic.AtomicInteger;

/** Counts failovers, and knows how long after the last one no grant counts yet. */
public final class FailoverEpoch {

    private final AtomicInteger count = new AtomicInteger();
    private volatile long graceUntilNanos;

    /** How many failovers this client has seen. */
    public int count() {
        return count.get();
    }

    /** Notes a failover; no lock may be acquired before the given time. */
    public void next(long untilNanos) {
        graceUntilNanos = untilNanos;
        count.incrementAndGet();
    }

    /** How long no lock may be acquired yet, since the new server may not know the holders. */
    public long graceNanos(long now) {
        return count.get() == 0 ? 0 : Math.max(0, graceUntilNanos - now);
    }
}
