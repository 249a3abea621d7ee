package io.github.redislocks.concurrent;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Pauses between tries, drawn at random from a range that doubles with each: so the clients of a server that comes back
 * do not all come at once. This is the "full jitter" of Marc Brooker, "Exponential Backoff And Jitter", AWS
 * Architecture Blog, 2015.
 */
public final class Backoff {

    private final long minNanos;
    private final long maxNanos;
    private long rangeNanos;

    private Backoff(long minMillis, long maxMillis) {
        this.minNanos = TimeUnit.MILLISECONDS.toNanos(minMillis);
        this.maxNanos = TimeUnit.MILLISECONDS.toNanos(maxMillis);
        this.rangeNanos = minNanos;
    }

    /** Between requests: one that failed may have met a connection that had been cut, so the first come soon. */
    public static Backoff ofRequests() {
        return new Backoff(10, 500);
    }

    /** Between subscriptions, which are cut all together. Heartbeats stand in for them meanwhile. */
    public static Backoff ofSubscriptions() {
        return new Backoff(200, 1_000);
    }

    /** The next pause, in ns. */
    public long next() {
        long pause = ThreadLocalRandom.current().nextLong(rangeNanos);
        rangeNanos = Math.min(2 * rangeNanos, maxNanos);
        return pause;
    }

    /** Begins anew, after a success. */
    public void reset() {
        rangeNanos = minNanos;
    }
}
