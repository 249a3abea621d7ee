package io.github.redislocks.redis;

import io.github.redislocks.RedisRequestException;
import java.io.Serial;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A call that brought no reply, or none to rely on. The kinds differ in what the caller may conclude. */
public abstract sealed class RedisException extends RedisRequestException {

    @Serial
    private static final long serialVersionUID = 1L;

    private RedisException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** No answer: the server is away, hangs, or the connection failed. */
    public static final class Unanswered extends RedisException {

        @Serial
        private static final long serialVersionUID = 1L;

        private final boolean sent;
        private final boolean busy;

        public Unanswered(String message, boolean sent, @Nullable Throwable cause) {
            this(message, sent, false, cause);
        }

        private Unanswered(String message, boolean sent, boolean busy, @Nullable Throwable cause) {
            super(message, cause);
            this.sent = sent;
            this.busy = busy;
        }

        /** One that waited until its time was over for a connection that other calls of this client had. */
        public static Unanswered busy(String message, @Nullable Throwable cause) {
            return new Unanswered(message, false, true, cause);
        }

        /** Whether it was this client that had no connection free, which says nothing of the server. Then not sent. */
        public boolean busy() {
            return busy;
        }

        /**
         * Whether the connection was refused or broke, so that it was neither the time that was too short, nor an error
         * of this JVM.
         */
        public boolean isCut() {
            Throwable cause = getCause();
            return cause instanceof Exception && !(cause instanceof RedisException) && !Causes.isTimeout(cause);
        }

        /** Whether the request may have left: it may have run, or may still run, however late. */
        public boolean sent() {
            return sent;
        }
    }

    /** An answer: that it can be done only after a time. */
    public static final class Unready extends RedisException {

        @Serial
        private static final long serialVersionUID = 1L;

        private final long waitMillis;

        public Unready(String message, long waitMillis) {
            super(message, null);
            this.waitMillis = waitMillis;
        }

        /** How long from now on it cannot be done, as far as is known. */
        public long waitMillis() {
            return waitMillis;
        }
    }

    /** An answer that too few replicas confirmed: what the server did may be lost with it. */
    public static final class Unacknowledged extends RedisException {

        @Serial
        private static final long serialVersionUID = 1L;

        public Unacknowledged(String message) {
            super(message, null);
        }
    }

    /** An error reply: the server was there, and said no before it changed anything. */
    public static final class Refused extends RedisException {

        @Serial
        private static final long serialVersionUID = 1L;

        /** Up to Redis 6.2 what a command of a script is refused for stands behind where that happened. */
        private static final Pattern WHERE =
                Pattern.compile("(ERR Error running script \\(call to \\w+\\): )?(@user_script: ?\\d+: )*-?");

        private static final List<String> PASSING = List.of(
                "LOADING",
                "OOM",
                "BUSY",
                "READONLY",
                "MASTERDOWN",
                "CLUSTERDOWN",
                "TRYAGAIN",
                "NOREPLICAS",
                "MISCONF",
                "UNBLOCKED",
                "ERR max number of clients");

        public Refused(String message, @Nullable Throwable cause) {
            super(message, cause);
        }

        /** Whether the server's text begins so, wherever in a script that was. */
        public boolean says(String beginning) {
            String text = String.valueOf(getMessage());
            Matcher where = WHERE.matcher(text);
            return text.startsWith(beginning, where.lookingAt() ? where.end() : 0);
        }

        /** Whether the same request can succeed later without anybody changing the configuration. */
        public boolean passing() {
            return PASSING.stream().anyMatch(this::says);
        }
    }
}
