package io.github.redislocks.script;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.PermitOwner;
import io.github.redislocks.state.Timing;
import java.util.stream.Collectors;

/**
 * The typed reply of a script, and the methods that read the replies. In a reply to an acquisition, "the attempt" is
 * the one that asked. In a reply to a release or a leave, "the attempt" is the named successor, the waiter of the same
 * client that should get the lock next.
 */
public sealed interface Answer {

    /**
     * The attempt has the lock.
     *
     * @param recalled whether the attempt has a share of the lock while a writer waits in line
     * @param numbers the numbers of the permits that it has, separated by blanks; empty for a lock
     */
    record Granted(long token, boolean previousLost, boolean recalled, String numbers) implements Answer {

        /** The grant of a lock. */
        public Granted(long token, boolean previousLost, boolean recalled) {
            this(token, previousLost, recalled, "");
        }

        /** The grant for the attempt's whole lease. The lease counts from the sending of the request. */
        public Attempt.Grant of(Attempt attempt, long sentNanos, long turnStartNanos) {
            long deadline = sentNanos + Timing.validityNanos(attempt.leaseMillis);
            return new Attempt.Grant(token, previousLost, deadline, turnStartNanos, true, numbers);
        }

        /**
         * The grant for a claim, the short lease of a grant that is not confirmed yet. The claim counts from the
         * sending of the request.
         */
        public Attempt.Grant claimOf(Attempt attempt, long sentNanos, long turnStartNanos) {
            long deadline = sentNanos + Timing.validityNanos(Timing.claimMillis(attempt.leaseMillis));
            return new Attempt.Grant(token, previousLost, deadline, turnStartNanos, false, numbers);
        }
    }

    /**
     * The attempt has a place in the queue.
     *
     * @param lastToken the token of the last hold; a grant to this place will have a greater token
     * @param holderMillis how long the lease of the present owner lasts; negative if the lock is free
     */
    record Queued(long lastToken, long holderMillis) implements Answer {}

    /** The attempt waits in a Condition; {@code lastToken} is a lower bound of the token of the last hold. */
    record Waiting(long lastToken) implements Answer {}

    /** The lock is free; {@code crowded} if there are waiters that no message has reached. */
    record Freed(boolean crowded) implements Answer {}

    /** Another owner has the lock at {@code index}, of several locks that were asked for. */
    record OneBusy(int index) implements Answer {}

    /** There are {@code size} permits: fewer than the attempt wants, or another number than it named. */
    record OtherSize(int size) implements Answer {

        /** The failure of the attempt that asked. */
        public Attempt.Failure failureOf(Attempt attempt) {
            PermitOwner owner = (PermitOwner) attempt.owner;
            return new Attempt.Failure(owner.pool().refused(owner.count, size));
        }
    }

    /** The replies that carry no values. */
    enum Word implements Answer {
        /** Another owner has the lock, and the attempt wanted no place. */
        BUSY,
        /** As {@link #BUSY}; the owner is a client that may keep the lock without a thread that holds it. */
        RESIDENT,
        /** There may be waiters, so the caller has to send the long script ({@code acquire} or {@code release}). */
        LINE,
        /** The request ran after its {@code notAfter}, and changed nothing. */
        LATE,
        /** A later request of the same thread ran before this one. */
        STALE,
        /** Redis does not have the hold that the request names. */
        GONE,
        /** The attempt had been signalled before. */
        SIGNALLED,
        /** Another client got the lock. */
        HANDED_ON,
        /** The hold has ended, and the lock stays taken for a time, without an owner. */
        KEPT,
        /** No known reply. */
        OTHER
    }

    /** Reads the reply to {@link Scripts#take}. */
    static Answer ofTake(Reply reply) {
        return reply.is("OK") ? new Granted(reply.number(0), false, false) : of(reply);
    }

    /** Reads the reply to {@link SeveralScripts#takeAll}. */
    static Answer ofTakeAll(Reply reply) {
        return reply.is("BUSY") ? new OneBusy(Math.toIntExact(reply.number(0))) : ofTake(reply);
    }

    /** Reads the reply to {@link Scripts#free}: whether the hold has ended. */
    static boolean isFreed(Reply reply) {
        return reply.is("OK");
    }

    /** Reads the reply to {@link SeveralScripts#freeAll}: whether the hold at {@code index} has ended. */
    static boolean isFreed(Reply reply, int index) {
        return isFreed(reply) || !reply.values().contains((long) index);
    }

    /** Reads the reply to a renewal or re-entry: whether Redis still has the hold. */
    static boolean isKept(Reply reply) {
        return reply.is("OK");
    }

    /** Reads the reply to a renewal of {@code count} holds: whether Redis still has the hold at {@code index}. */
    static boolean isKept(Reply reply, int index, int count) {
        return isKept(reply) || (count > 1 && !reply.values().contains((long) index));
    }

    /** As {@link #isKept}: whether another client waits for the lock at {@code index}. */
    static boolean isWaitedFor(Reply reply, int index, int count) {
        return reply.values().contains((long) count + index);
    }

    /** Reads the reply to a script that checks or ends a hold: whether the hold was gone. */
    static boolean isGone(Reply reply) {
        return reply.is("GONE");
    }

    /** Reads the reply to {@link Scripts#leave}: for how many ms an unanswered request of the attempt may still run. */
    static long stillRunsMillis(Reply reply) {
        int index =
                switch (reply.code()) {
                    case "DONE", "GONE" -> 0;
                    case "SUCCEEDED" -> 2;
                    default -> 3;
                };
        // The reply of a quorum has no such value.
        return index < reply.values().size() ? reply.number(index) : 0;
    }

    /** Reads the reply {@link Word#RESIDENT}: how many clients were asked to answer. */
    static int asked(Reply reply) {
        return reply.values().size() > 2 ? Math.toIntExact(reply.number(2)) : 1;
    }

    /** Reads the reply to any other script. */
    static Answer of(Reply reply) {
        return switch (reply.code()) {
            // The reply to a release does not say which attempt got the lock.
            case "GRANTED" -> reply.values().isEmpty() ? Word.HANDED_ON : granted(reply);
            case "OK", "SUCCEEDED" -> granted(reply);
            case "QUEUED" -> new Queued(reply.number(0), reply.number(1));
            case "WAITING" -> reply.values().isEmpty() ? Word.OTHER : new Waiting(reply.number(0));
            case "FREED" -> new Freed(reply.values().contains(1L));
            case "SIZE" -> new OtherSize(Math.toIntExact(reply.number(0)));
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
        return new Granted(reply.number(0), reply.number(1) == 1, reply.values().size() > 3 && reply.number(3) == 1);
    }

    /**
     * Reads the reply to a request of an attempt: as {@link #of}, and for permits with the numbers that follow the
     * time. For permits, notes that Redis does not refuse the size.
     */
    static Answer to(Attempt attempt, Reply reply) {
        Answer answer = of(reply);
        if (!(attempt.owner instanceof PermitOwner owner) || answer instanceof OtherSize || answer == Word.LATE) {
            return answer;
        }
        owner.pool().isKnown();
        String numbers = reply.values().stream().skip(3).map(Object::toString).collect(Collectors.joining(" "));
        return answer instanceof Granted granted
                ? new Granted(granted.token(), granted.previousLost(), false, numbers)
                : answer;
    }
}
