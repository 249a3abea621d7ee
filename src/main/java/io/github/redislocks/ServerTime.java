package io.github.redislocks;

import io.github.redislocks.redis.Reply;

/**
 * The time of Redis, from the last reply that told it. Counting from the sending of that request it runs ahead of the
 * truth by no more than a round trip, never behind, unless a clock was set.
 */
final class ServerTime {

    private record Seen(long micros, long sentNanos) {}

    private static final long REFRESH_NANOS = 1_000_000_000;

    private volatile Seen seen = new Seen(0, 0);

    /** Notes the last value of a reply as the time of Redis. */
    void saw(Reply reply, long sentNanos) {
        if (seen.micros == 0 || sentNanos - seen.sentNanos > REFRESH_NANOS || reply.is("LATE")) {
            seen = new Seen(reply.number(reply.values().size() - 1), sentNanos);
        }
    }

    /** The time of Redis after which a request must change nothing, if its caller waits until then. */
    long notAfterMicros(long now, long timeoutNanos) {
        Seen last = seen;
        return last.micros + (now - last.sentNanos + timeoutNanos) / 1_000;
    }
}
