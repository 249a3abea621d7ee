package io.github.redislocks.script;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;

/**
 * The typed reply of a script. The replies to an acquisition speak of its attempt. The replies to a release or a leave
 * speak of the named successor, the waiter of the same client that is to have the lock next. All replies of the scripts
 * are read here.
 */
public sealed interface Answer {

    /** The attempt has the lock. */
    record Granted(long token, boolean previousLost) implements Answer {}

    /**
     * The attempt has a place in the queue.
     *
     * @param lastToken the token of the last hold; a grant to this place will have a greater one
     * @param holderMillis how much longer another owner has the lock if nobody renews it; negative if the lock is free
     */
    record Queued(long lastToken, long holderMillis) implements Answer {}

    /** The attempt waits in a Condition; the last token was this one, or a later one. */
    record Waiting(long lastToken) implements Answer {}

    /**
     * The lock is free.
     *
     * @param crowded whether there are waiters nevertheless, which no message has reached
     */
    record Freed(boolean crowded) implements Answer {}

    /** Of several locks, another owner has the one with this index. */
    record OneBusy(int index) implements Answer {}

    /** The replies that carry no values. */
    enum Word implements Answer {
        /** Another owner has the lock, and no place was asked for. */
        BUSY,
        /** As {@link #BUSY}, and the owner is a client that may hold the lock for nobody. */
        RESIDENT,
        /** There may be waiters, so that the long script has to be used. */
        LINE,
        /** The request ran after its date, and changed nothing. */
        LATE,
        /** A later request of the same thread ran before this one. */
        STALE,
        /** There is no such hold. */
        GONE,
        /** The attempt had been signalled before. */
        SIGNALLED,
        /** The lock was granted to a thread of another client. */
        HANDED_ON,
        /** The hold has ended, and the lock stays taken by nobody for a time. */
        KEPT,
        /** None of these. */
        OTHER
    }

    /** Reads the reply to {@link Scripts#take}. */
    static Answer ofTake(Reply reply) {
        return reply.is("OK") ? new Granted(reply.number(0), false) : of(reply);
    }

    /** Reads the reply to {@link Scripts#takeAll}. */
    static Answer ofTakeAll(Reply reply) {
        return reply.is("BUSY") ? new OneBusy(Math.toIntExact(reply.number(0))) : ofTake(reply);
    }

    /** Reads the reply to {@link Scripts#free}: whether the hold has ended. */
    static boolean isFreed(Reply reply) {
        return reply.is("OK");
    }

    /** Reads the reply to {@link Scripts#freeAll}: whether the hold at {@code index} has ended. */
    static boolean isFreed(Reply reply, int index) {
        return isFreed(reply) || !reply.values().contains((long) index);
    }

    /** Reads the reply to a renewal or re-entry: whether the hold is there. */
    static boolean isKept(Reply reply) {
        return reply.is("OK");
    }

    /** Reads the reply to a renewal of {@code count} holds: whether the one at {@code index} is there. */
    static boolean isKept(Reply reply, int index, int count) {
        return isKept(reply) || (count > 1 && !reply.values().contains((long) index));
    }

    /** Reads the same: whether somebody waits for the lock of the hold at {@code index}. */
    static boolean isWaitedFor(Reply reply, int index, int count) {
        return reply.values().contains((long) count + index);
    }

    /** Reads the reply to a script that looks for a hold or ends it: whether the hold was gone. */
    static boolean isGone(Reply reply) {
        return reply.is("GONE");
    }

    /**
     * Reads the reply to {@link Scripts#leave}: for how many ms a request of the attempt may still run and leave
     * something behind.
     */
    static long stillRunsMillis(Reply reply) {
        int index = reply.is("DONE") ? 0 : reply.is("SUCCEEDED") ? 2 : 3;
        // A quorum's reply has no such value.
        return index < reply.values().size() ? reply.number(index) : 0;
    }

    /** Reads the reply to any other script. */
    static Answer of(Reply reply) {
        return switch (reply.code()) {
            // The reply to the end of a hold does not say which attempt has the lock next.
            case "GRANTED" -> reply.values().isEmpty() ? Word.HANDED_ON : granted(reply);
            case "OK", "SUCCEEDED" -> granted(reply);
            case "QUEUED" -> new Queued(reply.number(0), reply.number(1));
            case "WAITING" -> reply.values().isEmpty() ? Word.OTHER : new Waiting(reply.number(0));
            case "FREED" -> new Freed(reply.values().contains(1L));
            case "KEPT" -> Word.KEPT;
            case "BUSY" -> Word.BUSY;
            case "RESIDENT" -> Word.RESIDENT;
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
