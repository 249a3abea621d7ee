package io.github.redislocks.script;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;

/**
 * What a server says to an attempt that wants the lock, or to the end of a hold or of an attempt, where the successor
 * is meant: a thread of the same client that was named to have the lock next. The replies of the scripts are read here.
 */
public sealed interface Answer {

    /** It has the lock. */
    record Granted(long token, boolean previousLost) implements Answer {}

    /**
     * It stands in line.
     *
     * @param lastToken of the last hold; a grant to it will have a greater one
     * @param holderMillis for how much longer the lock is another's if nobody renews it; negative if nobody has it
     */
    record Queued(long lastToken, long holderMillis) implements Answer {}

    /** It waits in a Condition, behind the hold with this token or a later one. */
    record Waiting(long lastToken) implements Answer {}

    /**
     * Nobody has the lock.
     *
     * @param crowded whether anybody stands in line all the same, whom no message reaches
     */
    record Freed(boolean crowded) implements Answer {}

    /** Those that need no more than a word. */
    enum Word implements Answer {
        /** The lock is another's, and no place was asked for. */
        BUSY,
        /** The short script cannot say it: the long one has to look. */
        LINE,
        /** It came after its date, and changed nothing. */
        LATE,
        /** A later request of the same thread has run before it. */
        STALE,
        /** There is no such hold. */
        GONE,
        /** It had been signalled before. */
        SIGNALLED,
        /** Another client's thread has the lock next. */
        HANDED_ON,
        /** None of these. */
        OTHER
    }

    /** To {@link Scripts#take}. */
    static Answer ofTake(Reply reply) {
        return reply.is("OK") ? new Granted(reply.number(0), false) : of(reply);
    }

    /** To {@link Scripts#free}: whether the hold has ended. */
    static boolean isFreed(Reply reply) {
        return reply.is("OK");
    }

    /** To those that renew a hold or enter it once more: whether it is there. */
    static boolean isKept(Reply reply) {
        return reply.is("OK");
    }

    /** To a renewal of so many holds: whether the one at an index is there. */
    static boolean isKept(Reply reply, int index, int count) {
        return isKept(reply) || (count > 1 && !reply.values().contains((long) index));
    }

    /** To those that look for one hold or end it: whether it was not there. */
    static boolean isGone(Reply reply) {
        return reply.is("GONE");
    }

    /** To {@link Scripts#leave}: for how many ms what it had asked for may still run, and leave something behind. */
    static long stillRunsMillis(Reply reply) {
        int count = reply.values().size();
        return count == 0 ? 0 : reply.number(count - 1);
    }

    /** To all others. */
    static Answer of(Reply reply) {
        return switch (reply.code()) {
            // Of a hold that ends it tells nothing of who has the lock next.
            case "GRANTED" -> reply.values().isEmpty() ? Word.HANDED_ON : granted(reply);
            case "OK", "SUCCEEDED" -> granted(reply);
            case "QUEUED" -> new Queued(reply.number(0), reply.number(1));
            case "WAITING" -> reply.values().isEmpty() ? Word.OTHER : new Waiting(reply.number(0));
            case "FREED" -> new Freed(reply.values().contains(1L));
            case "BUSY" -> Word.BUSY;
            case "LINE" -> Word.LINE;
            case Call.LATE -> Word.LATE;
            case "STALE" -> Word.STALE;
            case "GONE" -> Word.GONE;
            case "SIGNALLED" -> Word.SIGNALLED;
            default -> Word.OTHER;
        };
    }

    private static Granted granted(Reply reply) {
        return new Granted(reply.number(0), reply.number(1) == 1);
    }
}
