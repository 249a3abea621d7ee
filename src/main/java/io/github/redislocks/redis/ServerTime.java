package io.github.redislocks.redis;

import java.util.concurrent.locks.ReentrantLock;

/**
 * An estimate of the time of a Redis server, from the last reply that contained it, and counted from when that request
 * was sent. So the estimate is ahead of the server's clock by at most a round trip, and never behind it, unless a clock
 * was set.
 */
public final class ServerTime {

    /**
     * The last known time (0 if none is known), and when the request was sent that brought it. Replies to earlier
     * requests do not count.
     */
    private record Seen(long micros, long sentNanos) {}

    private static final long REFRESH_NANOS = 1_000_000_000;

    private final ReentrantLock writing = new ReentrantLock();
    private volatile Seen seen = new Seen(0, Long.MIN_VALUE);

    /** Notes the server's time if the reply has it. */
    public void saw(Reply reply, long sentNanos) {
        if (isNews(reply, sentNanos)) {
            writing.lock();
            try {
                if (isNews(reply, sentNanos)) {
                    seen = new Seen(reply.now(), sentNanos);
                }
            } finally {
                writing.unlock();
            }
        }
    }

    private boolean isNews(Reply reply, long sentNanos) {
        Seen last = seen;
        return sentNanos >= last.sentNanos
                && (last.micros == 0 || sentNanos - last.sentNanos > REFRESH_NANOS || reply.is(Call.LATE))
                && reply.now() != 0;
    }

    /** Forgets the time, since requests now go to another server with another clock. */
    public void forget(long now) {
        writing.lock();
        try {
            seen = new Seen(0, now);
        } finally {
            writing.unlock();
        }
    }

    /**
     * The server time until which a request may have an effect: its caller waits no longer than that. While no server
     * time is known the result is 0, so that the request is late in any case, and the reply has the time.
     */
    public long notAfterMicros(long now, long timeoutNanos) {
        Seen last = seen;
        return last.micros == 0 ? 0 : last.micros + (now - last.sentNanos + timeoutNanos) / 1_000;
    }
}
