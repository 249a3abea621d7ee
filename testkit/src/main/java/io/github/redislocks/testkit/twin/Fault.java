package io.github.redislocks.testkit.twin;

import io.github.redislocks.redis.RedisException;

/**
 * A fault that a test plans for a call. The call fails at once, as by a connection that breaks.
 *
 * @param runs whether the script runs all the same
 * @param kind what the caller is told
 * @param text the error reply, of {@link #refused} alone
 */
public record Fault(boolean runs, Kind kind, String text) {

    /** The failure that the caller sees. */
    public enum Kind {
        UNANSWERED,
        UNSENT,
        REFUSED,
        /** The reply to the second copy. */
        RESENT,
        /** The same, which came after its date. */
        RESENT_LATE
    }

    /** The script does not run, and its caller cannot know that. */
    public static final Fault REQUEST_LOST = new Fault(false, Kind.UNANSWERED, "");

    /** The script runs, and its caller cannot know that. */
    public static final Fault REPLY_LOST = new Fault(true, Kind.UNANSWERED, "");

    /** The script does not run, and its caller knows that. */
    public static final Fault REFUSED_CONNECTION = new Fault(false, Kind.UNSENT, "");

    /** The connection broke after the script had run, and the request was sent again: the second reply is heard. */
    public static final Fault SENT_TWICE = new Fault(true, Kind.RESENT, "");

    /**
     * The connection broke before the script ran, and the request was sent again: the second reply is heard, and the
     * first copy may still come, by {@link InMemoryRedis#runLate}.
     */
    public static final Fault FIRST_COPY_LATE = new Fault(false, Kind.RESENT, "");

    /**
     * As {@link #SENT_TWICE}, but the second copy comes 10 s later to the server, whose clock shows that to it alone.
     */
    public static final Fault SENT_AGAIN_LATE = new Fault(true, Kind.RESENT_LATE, "");

    /** The server answers with an error, such as {@code OOM command not allowed}, and runs nothing. */
    public static Fault refused(String text) {
        return new Fault(false, Kind.REFUSED, text);
    }

    RedisException exception(String what) {
        return switch (kind) {
            case UNANSWERED -> new RedisException.Unanswered("The connection broke during " + what, true, null);
            case UNSENT -> new RedisException.Unanswered("Connection refused to " + what, false, null);
            case REFUSED -> new RedisException.Refused(text, null);
            case RESENT, RESENT_LATE -> throw new IllegalStateException("A call that is sent twice has a reply");
        };
    }
}
