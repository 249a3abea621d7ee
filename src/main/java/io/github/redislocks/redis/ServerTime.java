package io.github.redislocks.redis;

import java.util.concurrent.locks.ReentrantLock;

/**
 * An estimate of a server's time. The server's time in the last reply counts as its time when the request was sent. So
 * the estimate is ahead of the server's clock by a round trip at most, and never behind it, unless a clock was set.
 */
public final class ServerTime {

    /**
     * The last known time, and the sending time of the request whose reply had it. Replies to earlier requests do not
     * count.
     *
     * @param micros 0 if no time is known
     */
    private record Seen(long micros, long sentNanos) {}

    private static final long REFRESH_NANOS = 1_000_000_000;

    private final ReentrantLock writing = new ReentrantLock();
    private volatile Seen seen = new Seen(0, Long.MIN_VALUE);

    /** Notes the server's time if the reply contains it. */
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

    /** Forgets the time: requests now go to another server, which has another clock. */
    public void forget(long now) {
        writing.lock();
        try {
            seen = new Seen(0, now);
        } finally {
            writing.unlock();
        }
    }

    /**
     * The deadline of a request: the server's time at the end of the request's timeout. The deadline is 0 if the
     * server's time is unknown. Such a request is late in any case, and its reply has the time.
     */
    public long notAfterMicros(long now, long timeoutNanos) {
        Seen last = seen;
        return last.micros == 0 ? 0 : last.micros + (now - last.sentNanos + timeoutNanos) / 1_000;
    }
}
