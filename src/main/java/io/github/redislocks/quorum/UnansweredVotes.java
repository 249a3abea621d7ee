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
 * What one node of a quorum may have of attempts, or may get yet: votes, and places in line. An attempt of which it is
 * known to have nothing is not remembered, so that there are no more of them than attempts under way, holds, and those
 * that could not be withdrawn.
 */
public final class UnansweredVotes {

    /**
     * A vote that a node is asked for.
     *
     * @param place whether it takes a place in line as well
     * @param mayRunUntilNanos from when on it cannot be given any more
     */
    public record Question(long attempt, long ballot, boolean place, long leaseMillis, long mayRunUntilNanos) {

        private long lastsUntilNanos() {
            return mayRunUntilNanos + leaseMillis * 1_000_000;
        }
    }

    /** Of one attempt. Looked at and changed only while the map computes its entry. */
    private static final class Trace {

        /** Of the votes that it was asked for and has not answered: from when on each cannot be given any more. */
        private final List<Long> underWay = new ArrayList<>(1);
        /** The same of the last one of which a copy came to no answer; 0 if there was none. */
        private long mayRunUntilNanos;
        /** The last ballot for which there may be a vote; 0 if there is none. */
        private long ballot;
        /** Whether there may be a place. */
        private boolean place;
        /** When all that has ended by itself. */
        private long untilNanos;

        private Trace(long untilNanos) {
            this.untilNanos = untilNanos;
        }

        private boolean hasEnded(long now) {
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

        private void heard(Question question, Outcome outcome) {
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

        /** From when on nothing can be given any more; 0 if that is now. */
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

    /** How soon those that have ended by themselves are looked for again. */
    private static final long SWEEP_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final ConcurrentMap<Long, Trace> traces = new ConcurrentHashMap<>();
    private final AtomicLong sweptNanos = new AtomicLong(System.nanoTime());

    private void sweep(long now) {
        long last = sweptNanos.get();
        if (now - last > SWEEP_NANOS && sweptNanos.compareAndSet(last, now)) {
            forgetEnded(now);
        }
    }

    private void forgetEnded(long now) {
        for (Long attempt : traces.keySet()) {
            traces.computeIfPresent(attempt, (number, trace) -> trace.hasEnded(now) ? null : trace);
        }
    }

    /** Notes that a vote is asked for: it is on its way to the node, or waits to be. */
    public void asking(Question question) {
        sweep(System.nanoTime());
        traces.compute(question.attempt, (number, known) -> {
            Trace trace = known == null ? new Trace(question.lastsUntilNanos()) : known;
            trace.lasts(question.lastsUntilNanos());
            trace.underWay.add(question.mayRunUntilNanos);
            return trace;
        });
    }

    /** Notes what became of a vote that was asked for. */
    public void asked(Question question, Outcome outcome) {
        traces.compute(question.attempt, (number, known) -> {
            Trace trace = known == null ? new Trace(question.lastsUntilNanos()) : known;
            trace.heard(question, outcome);
            return trace.isNothing() ? null : trace;
        });
    }

    /** Notes that a vote may have been given a new lease. */
    public void kept(Question question) {
        traces.compute(question.attempt, (number, known) -> {
            Trace trace = known == null ? new Trace(question.lastsUntilNanos()) : known;
            trace.lasts(question.lastsUntilNanos());
            trace.voted(question.ballot);
            return trace;
        });
    }

    /**
     * Notes that the node has ended the vote of a ballot, or an earlier one, or never had it.
     *
     * @param dropped whether it ended the place as well
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

    /** Forgets an attempt, whatever there may be. */
    public void forget(long attempt) {
        traces.remove(attempt);
    }

    /** Whether the node may have a vote of an attempt, or may give one yet. */
    public boolean mayHaveVote(long attempt) {
        return is(attempt, Trace::mayHaveVote);
    }

    /** Whether the node may have anything of an attempt, or may get it yet. */
    public boolean mayHave(long attempt) {
        return is(attempt, trace -> true);
    }

    private boolean is(long attempt, Predicate<Trace> what) {
        boolean[] is = new boolean[1];
        traces.computeIfPresent(attempt, (number, trace) -> {
            boolean ended = trace.hasEnded(System.nanoTime());
            is[0] = !ended && what.test(trace);
            return ended ? null : trace;
        });
        return is[0];
    }

    /** From when on no vote of an attempt can be given that was asked for before; 0 if all were answered. */
    public long mayRunUntilNanos(long attempt) {
        long[] until = new long[1];
        traces.computeIfPresent(attempt, (number, trace) -> {
            until[0] = trace.mayRunUntil(System.nanoTime());
            return trace;
        });
        return until[0];
    }

    /** How many attempts it remembers. */
    public int size() {
        forgetEnded(System.nanoTime());
        return traces.size();
    }
}
