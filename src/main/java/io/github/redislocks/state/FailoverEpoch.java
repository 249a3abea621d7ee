package io.github.redislocks.state;

import java.util.concurrent.atomic.AtomicInteger;

/** Counts failovers, and knows how long after the latest one this client must not acquire locks. */
public final class FailoverEpoch {

    private final AtomicInteger count = new AtomicInteger();
    private volatile long graceUntilNanos;

    /** How many failovers this client has seen. */
    public int count() {
        return count.get();
    }

    /** Notes a failover: from now until {@code untilNanos} no lock may be acquired. */
    public void next(long untilNanos) {
        graceUntilNanos = untilNanos;
        count.incrementAndGet();
    }

    /** For how long this client must not acquire locks yet: the new server may not know the present holders. */
    public long graceNanos(long now) {
        return count.get() == 0 ? 0 : Math.max(0, graceUntilNanos - now);
    }
}
