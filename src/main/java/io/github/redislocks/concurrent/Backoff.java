package io.github.redislocks.concurrent;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Exponential backoff: random pauses between tries, from a range that doubles with each try, so that not all clients of
 * a server try again at the same time when it is back. This is the "full jitter" of Marc Brooker, "Exponential Backoff
 * And Jitter", AWS Architecture Blog, 2015.
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

    /**
     * The backoff between requests. Its first pauses are short, since a failure may only have been a broken connection.
     */
    public static Backoff ofRequests() {
        return new Backoff(10, 500);
    }

    /**
     * The backoff between tries to subscribe. The subscriptions of all clients break together; until they are restored,
     * heartbeats replace the messages.
     */
    public static Backoff ofSubscriptions() {
        return new Backoff(200, 1_000);
    }

    /** The backoff of a candidate whose acquisition failed. That acquisition has retried for long already. */
    public static Backoff ofCandidates() {
        return new Backoff(200, 5_000);
    }

    /** The backoff after work of the user has failed. The cause may last long, since it need not lie in Redis. */
    public static Backoff ofWork() {
        return new Backoff(1_000, 30_000);
    }

    /** Returns the next pause in nanoseconds. */
    public long next() {
        long pause = ThreadLocalRandom.current().nextLong(rangeNanos);
        rangeNanos = Math.min(2 * rangeNanos, maxNanos);
        return pause;
    }

    /** Starts again with the shortest range, after a success. */
    public void reset() {
        rangeNanos = minNanos;
    }
}
