package io.github.redislocks.testkit.twin;

import io.github.redislocks.redis.ErrorReply;
import io.github.redislocks.redis.RedisException;

/**
 * A fault that a test plans for a call. The caller gets the failure or reply at once.
 *
 * @param runs whether the script runs
 * @param kind the failure or reply that the caller gets
 * @param text the error reply of {@link #refused}; empty for other faults
 */
public record Fault(boolean runs, Kind kind, String text) {

    /** The failure or reply that the caller gets. */
    public enum Kind {
        UNANSWERED,
        UNSENT,
        REFUSED,
        /** The caller gets the reply to the second copy of its request. */
        RESENT,
        /** The caller gets the reply to the second copy, which arrived after the deadline of the call. */
        RESENT_LATE
    }

    /** The script does not run. The caller cannot know that. */
    public static final Fault REQUEST_LOST = new Fault(false, Kind.UNANSWERED, "");

    /** The script runs. The caller cannot know that. */
    public static final Fault REPLY_LOST = new Fault(true, Kind.UNANSWERED, "");

    /** The script does not run, and the caller knows that. */
    public static final Fault REFUSED_CONNECTION = new Fault(false, Kind.UNSENT, "");

    /**
     * The connection breaks after the script has run, and the request is sent again. The caller gets the second reply.
     */
    public static final Fault SENT_TWICE = new Fault(true, Kind.RESENT, "");

    /**
     * The connection breaks before the script runs, and the request is sent again. The caller gets the second reply. A
     * test may let the first copy arrive later, by {@link InMemoryRedis#runLate}.
     */
    public static final Fault FIRST_COPY_LATE = new Fault(false, Kind.RESENT, "");

    /**
     * The connection breaks as for {@link #SENT_TWICE}, and the second copy arrives 10 s later. Only the run of this
     * copy sees the later time of the server's clock.
     */
    public static final Fault SENT_AGAIN_LATE = new Fault(true, Kind.RESENT_LATE, "");

    /** The server replies with an error, such as {@code OOM command not allowed}, and does not run the script. */
    public static Fault refused(String text) {
        return new Fault(false, Kind.REFUSED, text);
    }

    RedisException exception(String what) {
        return switch (kind) {
            case UNANSWERED -> new RedisException.Unanswered("The connection broke during " + what, true, null);
            case UNSENT -> new RedisException.Unanswered("Connection refused to " + what, false, null);
            case REFUSED -> new RedisException.Refused(text, new ErrorReply(text));
            case RESENT, RESENT_LATE -> throw new IllegalStateException("A call that is sent twice has a reply");
        };
    }
}
