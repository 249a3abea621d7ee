package io.github.redislocks.redis;

import io.github.redislocks.RedisRequestException;
import java.io.Serial;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The failure of a call. The kinds of failures differ in what a caller knows: whether the script ran, may have run, or
 * did not run.
 */
public abstract sealed class RedisException extends RedisRequestException {

    @Serial
    private static final long serialVersionUID = 1L;

    private RedisException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** Whether the request can succeed only after a change of the configuration. Such a request is not repeated. */
    public boolean isPermanent() {
        return this instanceof Refused refused && !refused.passing();
    }

    /** There was no reply: the server is away or hangs, or the connection failed. */
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

        /**
         * Makes the failure of a call whose time ended while it waited for a connection: other calls of this client
         * used all of them.
         */
        public static Unanswered busy(String message, @Nullable Throwable cause) {
            return new Unanswered(message, false, true, cause);
        }

        /**
         * Whether this client had no free connection. Then the request was not sent, and the failure says nothing about
         * the server.
         */
        public boolean busy() {
            return busy;
        }

        /**
         * Whether the connection was refused or broke. False if the time was over, or if the failure arose in this JVM.
         */
        public boolean isCut() {
            Throwable cause = getCause();
            return cause instanceof Exception && !(cause instanceof RedisException) && !Causes.isTimeout(cause);
        }

        /** Whether the request may have been sent. Then it may have run, or may still run, however late. */
        public boolean sent() {
            return sent;
        }
    }

    /** The server replied that it can execute the request only later. */
    public static final class Unready extends RedisException {

        @Serial
        private static final long serialVersionUID = 1L;

        private final long waitMillis;

        public Unready(String message, long waitMillis) {
            super(message, null);
            this.waitMillis = waitMillis;
        }

        /** The least time, in ms, until the server can execute the request, as far as is known. */
        public long waitMillis() {
            return waitMillis;
        }
    }

    /**
     * The server executed the request, but too few replicas confirmed it: if the server fails, the change may be lost.
     */
    public static final class Unacknowledged extends RedisException {

        @Serial
        private static final long serialVersionUID = 1L;

        public Unacknowledged(String message) {
            super(message, null);
        }
    }

    /** The server sent an error reply. The request changed nothing. */
    public static final class Refused extends RedisException {

        @Serial
        private static final long serialVersionUID = 1L;

        /** The position in the script. Up to Redis 6.2, the error of a script starts with it. */
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

        /** Whether the server's error text, without a position in a script, starts with the given text. */
        public boolean says(String beginning) {
            String text = String.valueOf(getMessage());
            Matcher where = WHERE.matcher(text);
            return text.startsWith(beginning, where.lookingAt() ? where.end() : 0);
        }

        /** Whether the request can succeed later without a change of the configuration. */
        public boolean passing() {
            return PASSING.stream().anyMatch(this::says);
        }
    }
}
