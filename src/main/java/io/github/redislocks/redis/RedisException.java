package io.github.redislocks.redis;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** A call that brought no reply, or none to rely on. The kinds differ in what the caller may conclude. */
public abstract sealed class RedisException extends RuntimeException {

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

        public Unanswered(String message, boolean sent, @Nullable Throwable cause) {
            super(message, cause);
            this.sent = sent;
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

        public Refused(String message, @Nullable Throwable cause) {
            super(message, cause);
        }

        /** Whether the same request can succeed later without anybody changing the configuration. */
        public boolean passing() {
            String text = String.valueOf(getMessage());
            return text.startsWith("LOADING")
                    || text.startsWith("OOM")
                    || text.startsWith("BUSY")
                    || text.startsWith("READONLY")
                    || text.startsWith("MASTERDOWN")
                    || text.startsWith("CLUSTERDOWN")
                    || text.startsWith("TRYAGAIN")
                    || text.startsWith("NOREPLICAS")
                    || text.startsWith("MISCONF")
                    || text.startsWith("UNBLOCKED")
                    || text.startsWith("ERR max number of clients");
        }
    }
}
