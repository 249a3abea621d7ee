package io.github.redislocks.redis;

import io.github.redislocks.concurrent.Clock;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/** The estimated times of all servers that a client uses; each server has a clock of its own. */
public final class ServerTimes {

    private final Clock clock;
    private final ConcurrentMap<String, ServerTime> byServer = new ConcurrentHashMap<>();
    /** Replies to requests that were sent before this time do not count. */
    private volatile long forgottenNanos = Long.MIN_VALUE;

    public ServerTimes(Clock clock) {
        this.clock = clock;
    }

    private ServerTime of(String server) {
        ServerTime known = byServer.get(server);
        return known != null
                ? known
                : byServer.computeIfAbsent(server, first -> {
                    ServerTime time = new ServerTime();
                    time.forget(forgottenNanos);
                    return time;
                });
    }

    /** Notes the time of a server if the reply contains it. */
    public void saw(String server, Reply reply, long sentNanos) {
        of(server).saw(reply, sentNanos);
    }

    /** Forgets all times from requests that were sent before now, and servers that may be gone. */
    public void forget(long now) {
        forgottenNanos = now;
        byServer.clear();
    }

    /** The number of known servers. */
    public int count() {
        return byServer.size();
    }

    /** Makes the deadline of a call that is sent at the given time with the given timeout. */
    public Date date(long sentNanos, long timeoutNanos) {
        return new Date(sentNanos, timeoutNanos);
    }

    /**
     * The deadline of one call, by the clock of the server to which it was sent last. That server is also the one that
     * replies.
     */
    public final class Date implements Call.NotAfter {

        private long sentNanos;
        private long timeoutNanos;
        /** The latest deadline that was sent to {@code server}, the last server. */
        private long micros;

        /**
         * When the call was sent last. This may be later than its start: the call may have waited, or another server
         * may have redirected it.
         */
        private long lastNanos;

        private volatile String server = "";

        private Date(long sentNanos, long timeoutNanos) {
            this.sentNanos = sentNanos;
            this.lastNanos = sentNanos;
            this.timeoutNanos = timeoutNanos;
        }

        @Override
        public long micros(String to) {
            long now = of(to).notAfterMicros(sentNanos, timeoutNanos);
            lastNanos = clock.nanoTime();
            micros = to.equals(server) ? Math.max(micros, now) : now;
            server = to;
            return now;
        }

        /** Until when a copy of the call may run on a server, by that server's clock; 0 if none was sent to it. */
        public long mayRunUntilMicros(String on) {
            return on.equals(server) ? micros : 0;
        }

        /**
         * Whether, on the server to which this call was sent last, a copy of this call may run later than any copy of
         * the other call.
         */
        public boolean mayRunLongerThan(@Nullable Date other) {
            return other == null || mayRunUntilMicros(server) > other.mayRunUntilMicros(server);
        }

        /**
         * Notes the time of the server that replied. If the call was late, the rest of its time becomes its timeout, so
         * that it can be sent again.
         */
        @Override
        public void saw(Reply reply) {
            of(server).saw(reply, lastNanos);
            if (reply.is(Call.LATE)) {
                long now = clock.nanoTime();
                timeoutNanos = Math.max(0, sentNanos + timeoutNanos - now);
                sentNanos = now;
            }
        }
    }
}
