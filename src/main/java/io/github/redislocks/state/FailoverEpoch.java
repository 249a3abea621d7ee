package io.github.redislocks.state;

import java.util.concurrent.atomic.AtomicInteger;

/** Counts failovers, and says for how long after the last one no grant counts. */
public final class FailoverEpoch {

    private final AtomicInteger count = new AtomicInteger();
    private volatile long graceUntilNanos;

    /** How many failovers this client has seen. */
    public int count() {
        return count.get();
    }

    /** Notes a failover; no lock may be acquired until a time. */
    public void next(long untilNanos) {
        graceUntilNanos = untilNanos;
        count.incrementAndGet();
    }

    /** How long no lock may be acquired yet: its holder may be unknown to the new server. */
    public long graceNanos(long now) {
        return count.get() == 0 ? 0 : Math.max(0, graceUntilNanos - now);
    }
}
