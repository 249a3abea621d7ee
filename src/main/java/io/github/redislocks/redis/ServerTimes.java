package io.github.redislocks.redis;

import io.github.redislocks.concurrent.Clock;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/** The times of all servers to which this client talks, for each has a clock of its own. */
public final class ServerTimes {

    private final Clock clock;
    private final ConcurrentMap<String, ServerTime> byServer = new ConcurrentHashMap<>();
    /** Before this nothing counts. */
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

    /** Notes the last value of a server's reply as its time. */
    public void saw(String server, Reply reply, long sentNanos) {
        of(server).saw(reply, sentNanos);
    }

    /** Forgets all times that were asked for before, and servers that may have gone. */
    public void forget(long now) {
        forgottenNanos = now;
        byServer.clear();
    }

    /** How many servers it knows. */
    public int count() {
        return byServer.size();
    }

    /** The date of a call that is sent at a time and waited for until a timeout. */
    public Date date(long sentNanos, long timeoutNanos) {
        return new Date(sentNanos, timeoutNanos);
    }

    /**
     * The time after which one call must change nothing, by the clock of whichever server it is sent to last: that is
     * the one that answers.
     */
    public final class Date implements Call.NotAfter {

        private long sentNanos;
        private long timeoutNanos;
        /** What was said last, or the greatest time if it was said to one server more than once. */
        private long micros;

        /** When it was sent last: it may have been turned away elsewhere before, or have waited. */
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

        /** Until when a copy of the call may run on a server, by its clock; 0 if none can, as none was sent there. */
        public long mayRunUntilMicros(String on) {
            return on.equals(server) ? micros : 0;
        }

        /**
         * Whether a copy of this call may run, on the server to which it was sent last, for longer than one of another.
         */
        public boolean mayRunLongerThan(@Nullable Date other) {
            return other == null || mayRunUntilMicros(server) > other.mayRunUntilMicros(server);
        }

        /**
         * As the time of the server that gave it. If the call was late, it has the time that is left, to be sent once
         * more.
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
