package io.github.redislocks.quorum;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Request;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A poll of all nodes of a quorum for their votes. Won with a majority that gave one token; its validity counts from
 * before the first request, as every lease does. Lost votes are withdrawn from all nodes that gave one or may yet. This
 * is the algorithm of Salvatore Sanfilippo, "Distributed Locks with Redis" (Redlock).
 *
 * <p>Tokens grow over majorities: a node counts the greatest that it has given, and gives the wanted one only if it is
 * greater, else the next. Two majorities share a node, which had the token of the last hold; so whatever is given by a
 * majority is greater. If the nodes of the majority gave different ones, since minorities had counted further, the
 * greatest is written to a majority in a second round before anybody is told.
 */
public final class VotePoll extends Poll {

    /** A client that met others asks again after at most this, in ms. */
    private static final int SPLIT_MILLIS = 20;

    private static final int STRAGGLERS = 3;
    private static final long MIN_STRAGGLERS_NANOS = 20_000_000;

    /**
     * The attempt that wants votes.
     *
     * @param claimMillis for a place in line on each node, or 0
     * @param lastLostAttempt as {@link Request.Acquire} has it
     * @param success the code of the reply that the client understands
     */
    public record Candidate(
            List<String> keys,
            String owner,
            long attempt,
            long leaseMillis,
            long claimMillis,
            long lastLostAttempt,
            String success) {

        public UnansweredVotes.Question question(long ballot, long mayRunUntilNanos) {
            return new UnansweredVotes.Question(attempt, ballot, claimMillis > 0, leaseMillis, mayRunUntilNanos);
        }
    }

    private final QuorumCalls calls;
    private final Candidate candidate;
    private final long ballot;
    private final long token;
    private final boolean second;

    public VotePoll(QuorumCalls calls, Candidate candidate, long token) {
        this(calls, candidate, calls.nextBallot(), token, false);
    }

    private VotePoll(QuorumCalls calls, Candidate candidate, long ballot, long token, boolean second) {
        super(calls.nodes());
        this.calls = calls;
        this.candidate = candidate;
        this.ballot = ballot;
        this.token = token;
        this.second = second;
    }

    long attempt() {
        return candidate.attempt;
    }

    @Override
    public Call call(PolledMaster node, String runId, long now, long timeoutNanos) {
        return calls.vote(candidate, ballot, token, QuorumCalls.At.of(node, runId, now, timeoutNanos));
    }

    /** Far below the lease, so that one node that hangs does not use it up. */
    @Override
    public long patienceNanos() {
        return QuorumCalls.patienceNanos(candidate.leaseMillis);
    }

    /** Stragglers are waited for, but not long: votes that come to nothing hinder other clients while they last. */
    @Override
    public long stragglersNanos(long majorityNanos) {
        return Math.max(MIN_STRAGGLERS_NANOS, STRAGGLERS * majorityNanos);
    }

    @Override
    public void asking(PolledMaster node, long mayRunUntilNanos) {
        node.unanswered.asking(candidate.question(ballot, mayRunUntilNanos));
    }

    @Override
    public void asked(PolledMaster node, long mayRunUntilNanos, Outcome outcome) {
        node.unanswered.asked(candidate.question(ballot, mayRunUntilNanos), outcome);
    }

    @Override
    @Nullable
    public Result judge(Heard heard) {
        List<VoteAnswer.Voted> votes = heard.votes(VoteAnswer.Voted.class).stream()
                .filter(vote -> !second || vote.token() == token)
                .toList();
        int open = heard.open();
        if (votes.size() >= majority) {
            return won(votes);
        }
        if (votes.size() + open >= majority) {
            return null;
        }
        if (heard.count("STALE") > 0) {
            return Result.of(new Reply("STALE", List.of()));
        }
        return lost(heard, open);
    }

    private Result won(List<VoteAnswer.Voted> votes) {
        long greatest = tokens(votes).max().orElseThrow();
        if (tokens(votes).filter(token -> token == greatest).count() < majority) {
            VotePoll round = new VotePoll(calls, candidate, ballot, greatest, true);
            return new Result(Outcome.of(busy(0)), round, null, false);
        }
        // The last hold that somebody had was released if one of the nodes that knew it knows that.
        long last =
                votes.stream().mapToLong(VoteAnswer.Voted::previousToken).max().orElseThrow();
        boolean released = votes.stream().anyMatch(vote -> vote.previousToken() == last && !vote.previousLost());
        return Result.of(new Reply(candidate.success, List.of(greatest, released ? 0L : 1L, QuorumCalls.NOW)));
    }

    private static LongStream tokens(List<VoteAnswer.Voted> votes) {
        return votes.stream().mapToLong(VoteAnswer.Voted::token);
    }

    private @Nullable Result lost(Heard heard, int open) {
        List<VoteAnswer.Taken> taken = heard.votes(VoteAnswer.Taken.class);
        int most = heard.mostTaken();
        Poll withdrawal = withdrawal(most >= majority ? Withdrawal.Place.HUSH : Withdrawal.Place.KEEP);
        int free = heard.votes(VoteAnswer.Voted.class).size();
        if (most >= majority) {
            // By hand: of a lambda that is first linked without memory JDK 25 says so for ever.
            long[] leases = new long[taken.size()];
            for (int i = 0; i < leases.length; i++) {
                leases[i] = taken.get(i).pttlMillis();
            }
            Arrays.sort(leases);
            int needed = Math.max(1, majority - free);
            long wait = leases[Math.min(leases.length, needed) - 1];
            return new Result(Outcome.of(busy(wait)), null, withdrawal, false);
        }
        List<VoteAnswer.Young> started = heard.votes(VoteAnswer.Young.class);
        if (open > 0 && started.size() < majority) {
            return null;
        }
        if (free + taken.size() >= majority) {
            int pause = 1 + ThreadLocalRandom.current().nextInt(SPLIT_MILLIS);
            return new Result(Outcome.of(busy(pause)), null, withdrawal, true);
        }
        long[] young = started.stream()
                .mapToLong(VoteAnswer.Young::waitMillis)
                .sorted()
                .toArray();
        int missing = majority - free - taken.size();
        // As many as are needed answer, and say for how long some of them will give no vote.
        Outcome outcome = young.length < missing
                ? heard.noMajority("the lock", majority)
                : Outcome.of(new RedisException.Unready(heard.reasons("the lock", majority), young[missing - 1]));
        return new Result(outcome, null, withdrawal, false);
    }

    private WithdrawPoll withdrawal(Withdrawal.Place place) {
        return new WithdrawPoll(
                calls,
                new Withdrawal(
                        candidate.keys, candidate.owner, candidate.attempt, ballot, Withdrawal.End.UNHELD, place));
    }

    private Reply busy(long pttl) {
        return candidate.claimMillis == 0
                ? new Reply("BUSY", List.of(pttl, QuorumCalls.NOW))
                : new Reply("QUEUED", List.of(0L, pttl, QuorumCalls.NOW));
    }
}
