package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** The times of all servers to which this client talks, for each has a clock of its own. */
final class ServerTimes {

    private final ConcurrentMap<String, ServerTime> byServer = new ConcurrentHashMap<>();

    private ServerTime of(String server) {
        ServerTime known = byServer.get(server);
        return known != null ? known : byServer.computeIfAbsent(server, first -> new ServerTime());
    }

    /** Notes the last value of a server's reply as its time. */
    void saw(String server, Reply reply, long sentNanos) {
        of(server).saw(reply, sentNanos);
    }

    /** Forgets all times that were asked for before. */
    void forget(long now) {
        byServer.values().forEach(time -> time.forget(now));
    }

    /** The date of a call that is sent at a time and waited for until a timeout. */
    Date date(long sentNanos, long timeoutNanos) {
        return new Date(sentNanos, timeoutNanos);
    }

    /**
     * The time after which one call must change nothing, by the clock of whichever server it is sent to last: that is
     * the one that answers.
     */
    final class Date implements Call.NotAfter {

        private final long sentNanos;
        private final long timeoutNanos;
        private volatile String server = "";

        private Date(long sentNanos, long timeoutNanos) {
            this.sentNanos = sentNanos;
            this.timeoutNanos = timeoutNanos;
        }

        @Override
        public long micros(String to) {
            server = to;
            return of(to).notAfterMicros(sentNanos, timeoutNanos);
        }

        /** Notes the last value of the reply to this call as the time of the server that gave it. */
        void saw(Reply reply) {
            of(server).saw(reply, sentNanos);
        }
    }
}
