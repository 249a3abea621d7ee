package io.github.redislocks.redis;

import java.util.concurrent.locks.ReentrantLock;

/**
 * The time of Redis, from the last reply that told it. Counting from the sending of that request it runs ahead of the
 * truth by no more than a round trip, never behind, unless a clock was set.
 */
public final class ServerTime {

    /**
     * What is known: the time, 0 if none is, and the sending of the request that was answered so, before which no other
     * one counts.
     */
    private record Seen(long micros, long sentNanos) {}

    private static final long REFRESH_NANOS = 1_000_000_000;

    private final ReentrantLock writing = new ReentrantLock();
    private volatile Seen seen = new Seen(0, Long.MIN_VALUE);

    /** Notes the last value of a reply as the time of Redis. */
    public void saw(Reply reply, long sentNanos) {
        if (isNews(reply, sentNanos)) {
            writing.lock();
            try {
                if (isNews(reply, sentNanos)) {
                    seen = new Seen(reply.number(reply.values().size() - 1), sentNanos);
                }
            } finally {
                writing.unlock();
            }
        }
    }

    private boolean isNews(Reply reply, long sentNanos) {
        Seen last = seen;
        return sentNanos >= last.sentNanos
                && (last.micros == 0 || sentNanos - last.sentNanos > REFRESH_NANOS || reply.is(Call.LATE));
    }

    /** Forgets the time, since from now on requests go to another server, whose clock is another. */
    public void forget(long now) {
        writing.lock();
        try {
            seen = new Seen(0, now);
        } finally {
            writing.unlock();
        }
    }

    /**
     * The time of Redis after which a request must change nothing, if its caller waits until then. As long as no time
     * is known, the request is late in any case, and the answer tells the time.
     */
    public long notAfterMicros(long now, long timeoutNanos) {
        Seen last = seen;
        return last.micros == 0 ? 0 : last.micros + (now - last.sentNanos + timeoutNanos) / 1_000;
    }
}
