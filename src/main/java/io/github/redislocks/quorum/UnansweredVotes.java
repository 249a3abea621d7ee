package io.github.redislocks.quorum;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;

/**
 * The votes and places in the queue of each attempt that one node of a quorum may have, or may still give. An attempt
 * that certainly has nothing on the node is removed. So the entries are those of attempts under way, of holds, and of
 * votes that could not be withdrawn.
 */
public final class UnansweredVotes {

    /**
     * A request for a vote.
     *
     * @param place whether the request also takes a place in the queue
     * @param mayRunUntilNanos until when the node may still give the vote
     */
    public record Question(long attempt, long ballot, boolean place, long leaseMillis, long mayRunUntilNanos) {

        private long lastsUntilNanos() {
            return mayRunUntilNanos + leaseMillis * 1_000_000;
        }
    }

    /**
     * The entry of one attempt: the votes and the place that the node may have. Used only inside the map's compute
     * methods, which exclude each other.
     */
    private static final class Trace {

        /** For each unanswered request: the time until which the node may still give the vote. */
        private final List<Long> underWay = new ArrayList<>(1);
        /** The latest time at which an unanswered copy of an answered request may run; 0 if there is no such copy. */
        private long mayRunUntilNanos;
        /** The last ballot for which the node may have a vote; 0 if there is none. */
        private long ballot;
        /** Whether the node may have a place in the queue. */
        private boolean place;
        /** When all votes and places of the attempt have expired. */
        private long untilNanos;

        private Trace(long untilNanos) {
            this.untilNanos = untilNanos;
        }

        private boolean hasExpired(long now) {
            return now - untilNanos > 0;
        }

        private void lasts(long until) {
            if (until - untilNanos > 0) {
                untilNanos = until;
            }
        }

        private void voted(long number) {
            ballot = Math.max(ballot, number);
        }

        private void settle(Question question, Outcome outcome) {
            underWay.remove((Long) question.mayRunUntilNanos);
            Reply reply = outcome.reply();
            boolean copy = reply == null
                    ? outcome.failure() instanceof RedisException.Unanswered failure && failure.sent()
                    : reply.resent();
            VoteAnswer answer = VoteAnswer.of(outcome);
            boolean voted = copy || answer instanceof VoteAnswer.Voted;
            if (copy && (mayRunUntilNanos == 0 || question.mayRunUntilNanos - mayRunUntilNanos > 0)) {
                mayRunUntilNanos = question.mayRunUntilNanos;
            }
            if (voted) {
                voted(question.ballot);
            }
            place |= question.place && (voted || answer instanceof VoteAnswer.Taken);
        }

        /** Until when a request may still make the node give a vote; 0 if none can. */
        private long mayRunUntil(long now) {
            long last = mayRunUntilNanos != 0 && mayRunUntilNanos - now > 0 ? mayRunUntilNanos : 0;
            for (long each : underWay) {
                if (each - now > 0 && (last == 0 || each - last > 0)) {
                    last = each;
                }
            }
            return last;
        }

        private boolean mayHaveVote() {
            return ballot != 0 || !underWay.isEmpty();
        }

        private boolean isNothing() {
            return !place && !mayHaveVote();
        }
    }

    /** The least time between two removals of expired entries. */
    private static final long SWEEP_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final ConcurrentMap<Long, Trace> traces = new ConcurrentHashMap<>();
    private final AtomicLong sweptNanos = new AtomicLong(System.nanoTime());

    private void sweep(long now) {
        long last = sweptNanos.get();
        if (now - last > SWEEP_NANOS && sweptNanos.compareAndSet(last, now)) {
            forgetExpired(now);
        }
    }

    private void forgetExpired(long now) {
        for (Long attempt : traces.keySet()) {
            traces.computeIfPresent(attempt, (number, trace) -> trace.hasExpired(now) ? null : trace);
        }
    }

    /** Notes a request for a vote before it is sent. */
    public void asking(Question question) {
        sweep(System.nanoTime());
        traces.compute(question.attempt, (number, known) -> {
            Trace trace = known == null ? new Trace(question.lastsUntilNanos()) : known;
            trace.lasts(question.lastsUntilNanos());
            trace.underWay.add(question.mayRunUntilNanos);
            return trace;
        });
    }

    /** Notes the outcome of a request for a vote. */
    public void settled(Question question, Outcome outcome) {
        traces.compute(question.attempt, (number, known) -> {
            Trace trace = known == null ? new Trace(question.lastsUntilNanos()) : known;
            trace.settle(question, outcome);
            return trace.isNothing() ? null : trace;
        });
    }

    /** Notes that the lease of a vote may have been renewed. */
    public void renewed(Question question) {
        traces.compute(question.attempt, (number, known) -> {
            Trace trace = known == null ? new Trace(question.lastsUntilNanos()) : known;
            trace.lasts(question.lastsUntilNanos());
            trace.voted(question.ballot);
            return trace;
        });
    }

    /**
     * Notes that the node has no vote of this ballot or of an earlier one.
     *
     * @param dropped whether the node also removed the place in the queue
     */
    public void withdrawn(long attempt, long ballot, boolean dropped) {
        traces.computeIfPresent(attempt, (number, trace) -> {
            if (trace.mayRunUntil(System.nanoTime()) == 0) {
                trace.ballot = trace.ballot <= ballot ? 0 : trace.ballot;
                trace.place &= !dropped;
            }
            return trace.isNothing() ? null : trace;
        });
    }

    /** Removes an attempt, even if the node may have a vote or a place of it. */
    public void forget(long attempt) {
        traces.remove(attempt);
    }

    /** Whether the node may have a vote of an attempt, or may still give one. */
    public boolean mayHaveVote(long attempt) {
        return is(attempt, Trace::mayHaveVote);
    }

    /** Whether the node may have a vote or a place of an attempt, or may still give one. */
    public boolean mayHave(long attempt) {
        return is(attempt, trace -> true);
    }

    private boolean is(long attempt, Predicate<Trace> what) {
        boolean[] is = new boolean[1];
        traces.computeIfPresent(attempt, (number, trace) -> {
            boolean ended = trace.hasExpired(System.nanoTime());
            is[0] = !ended && what.test(trace);
            return ended ? null : trace;
        });
        return is[0];
    }

    /** Until when a request of the attempt may still make the node give a vote; 0 if all requests were answered. */
    public long mayRunUntilNanos(long attempt) {
        long[] until = new long[1];
        traces.computeIfPresent(attempt, (number, trace) -> {
            until[0] = trace.mayRunUntil(System.nanoTime());
            return trace;
        });
        return until[0];
    }

    /** The number of attempts remembered. */
    public int size() {
        forgetExpired(System.nanoTime());
        return traces.size();
    }
}
