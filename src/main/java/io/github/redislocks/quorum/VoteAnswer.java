package io.github.redislocks.quorum;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Reply;

/** What a master says to a call for its vote, {@code vote.lua}. Its replies are read here. */
public sealed interface VoteAnswer {

    /**
     * The vote is the attempt's.
     *
     * @param token the one wanted or, if that was counted before, the next
     * @param previousToken of the hold before
     * @param previousLost whether that one was not released
     * @param kept whether the vote was there before
     */
    record Voted(long token, long previousToken, boolean previousLost, boolean kept) implements VoteAnswer {}

    /** The vote is another owner's, for so many ms if nobody renews it. */
    record Taken(String owner, long pttlMillis) implements VoteAnswer {}

    /** The master may have forgotten a vote, and gives none for so many ms. */
    record Young(long waitMillis) implements VoteAnswer {}

    /** To a renewal: the hold has ended; lapsed: the token of a later vote that ended by its lease, or 0. */
    record Gone(long lapsed) implements VoteAnswer {}

    /** Those that need no more than a word. */
    enum Word implements VoteAnswer {
        /** A later attempt of the same owner has the vote. */
        STALE,
        /** It came after its date, and changed nothing. */
        LATE,
        /** Another server than the one that was meant got the question, and changed nothing. */
        OTHER,
        /** None of these: an answer to another script. */
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

    /** {@link Word#NONE} also if there is no reply. */
    static VoteAnswer of(Outcome outcome) {
        Reply reply = outcome.reply();
        return reply == null ? Word.NONE : of(reply);
    }

    /** Whether it is to be asked once more, since nothing was done. */
    default boolean wantsAnother() {
        return this == Word.LATE || this == Word.OTHER;
    }

    /** Whether its reply has the time of the server. */
    default boolean tellsTime() {
        return this instanceof Voted || this instanceof Taken || this instanceof Young || this == Word.LATE;
    }
}
