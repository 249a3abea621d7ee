package io.github.redislocks.redis;

import io.github.redislocks.concurrent.Clock;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/** The estimated times of all servers that a client uses. Each server has its own clock. */
public final class ServerTimes {

    private final Clock clock;
    private final ConcurrentMap<String, ServerTime> byServer = new ConcurrentHashMap<>();
    /** Replies do not count if their requests were sent before this time. */
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

    /** Forgets all servers and their times. Replies to earlier requests no longer count. */
    public void forget(long now) {
        forgottenNanos = now;
        byServer.clear();
    }

    /** The number of known servers. */
    public int count() {
        return byServer.size();
    }

    /** Makes the deadline of a call from the time at which it is sent and its timeout. */
    public Date date(long sentNanos, long timeoutNanos) {
        return new Date(sentNanos, timeoutNanos);
    }

    /**
     * The deadline of one call, by the clock of the server to which the call was sent last. That server also replies.
     */
    public final class Date implements Call.NotAfter {

        private long sentNanos;
        private long timeoutNanos;
        /** The latest deadline that was sent to {@code server}, which is the server to which the call was sent last. */
        private long micros;

        /**
         * When the call was sent last. The call may have started earlier, and waited for a server or been redirected
         * since.
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

        /** Until when a copy of the call may run on a server, by that server's clock; 0 if no copy was sent there. */
        public long mayRunUntilMicros(String on) {
            return on.equals(server) ? micros : 0;
        }

        /**
         * Whether a copy of this call may run later than every copy of the other call, on the server to which this call
         * was sent last.
         */
        public boolean mayRunLongerThan(@Nullable Date other) {
            return other == null || mayRunUntilMicros(server) > other.mayRunUntilMicros(server);
        }

        /**
         * Notes the server's time. If the call was late, the time that is left becomes the call's timeout, so that the
         * call can be sent again.
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
