package io.github.redislocks.quorum;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Reply;

/** The reply of a master to {@code vote.lua}, which asks for its vote. */
public sealed interface VoteAnswer {

    /**
     * The attempt has the vote.
     *
     * @param token the wanted token if it is greater than all tokens that the master has given; otherwise the master's
     *     next token
     * @param previousToken the token of the previous hold
     * @param previousLost whether the previous hold was not released
     * @param kept whether the attempt had the vote before this request
     */
    record Voted(long token, long previousToken, boolean previousLost, boolean kept) implements VoteAnswer {}

    /**
     * Another owner has the vote.
     *
     * @param pttlMillis in how many ms the vote ends if it is not renewed
     */
    record Taken(String owner, long pttlMillis) implements VoteAnswer {}

    /**
     * The master has just started and may have forgotten votes, so it gives none yet.
     *
     * @param waitMillis for how long the master gives none
     */
    record Young(long waitMillis) implements VoteAnswer {}

    /**
     * The hold that was to be renewed is gone.
     *
     * @param lapsed the token of a later vote that has expired; 0 if there was none
     */
    record Gone(long lapsed) implements VoteAnswer {}

    /** The answers without values. */
    enum Word implements VoteAnswer {
        /** A later attempt of the same owner has the vote. */
        STALE,
        /** The request ran too late, and changed nothing. */
        LATE,
        /** The request reached another server than it names, and changed nothing. */
        OTHER,
        /** The reply belongs to another script, or there is none. */
        NONE
    }

    static VoteAnswer of(Reply reply) {
        return switch (reply.code()) {
            case "VOTED" -> new Voted(reply.number(0), reply.number(1), reply.number(2) != 0, reply.number(3) != 0);
            case "TAKEN" -> new Taken(reply.text(0), reply.number(1));
            case "YOUNG" -> new Young(reply.number(0));
            case "GONE" -> reply.values().isEmpty() ? Word.NONE : new Gone(reply.number(0));
            case "OTHER" -> Word.OTHER;
            case "STALE" -> Word.STALE;
            case "LATE" -> Word.LATE;
            default -> Word.NONE;
        };
    }

    static VoteAnswer of(Outcome outcome) {
        Reply reply = outcome.reply();
        return reply == null ? Word.NONE : of(reply);
    }

    /** Whether the request changed nothing and is to be sent once more. */
    default boolean wantsAnother() {
        return this == Word.LATE || this == Word.OTHER;
    }

    /** Whether the reply contains the server's time. */
    default boolean hasTime() {
        return this instanceof Voted || this instanceof Taken || this instanceof Young || this == Word.LATE;
    }
}
