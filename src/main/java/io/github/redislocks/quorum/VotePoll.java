package io.github.redislocks.quorum;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Request;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A poll that asks all nodes of a quorum for their votes. It wins if a majority gives the same token. The validity of
 * the hold then counts from before the first request, as for every lease. If the poll does not win, its votes are
 * withdrawn from all nodes that gave one or may still give one. This is the algorithm Redlock of Salvatore Sanfilippo,
 * "Distributed Locks with Redis".
 *
 * <p>Tokens grow from hold to hold. A node remembers the greatest token that it has given. It gives the wanted token if
 * that is greater, and otherwise its next token. Two majorities share a node, so one node of each majority knows the
 * token of the previous hold, and gives a greater one. If the nodes of a majority gave different tokens, a second round
 * writes the greatest of them to a majority before the caller gets the lock.
 */
public final class VotePoll extends Poll {

    /** The longest pause, in ms, of a client after a split round: several clients got votes, and none a majority. */
    private static final int SPLIT_MILLIS = 20;

    private static final int STRAGGLERS = 3;
    private static final long MIN_STRAGGLERS_NANOS = 20_000_000;

    /**
     * The attempt that wants votes.
     *
     * @param claimMillis how long a place in the queue lasts on each node; 0 to take no place
     * @param lastLostAttempt as in {@link Request.Acquire}
     * @param success the code of the reply that the client expects
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

    /** Far less than the lease, so that a node that hangs does not use up the lease. */
    @Override
    public long patienceNanos() {
        return QuorumCalls.patienceNanos(candidate.leaseMillis);
    }

    /** A short time, since votes without a majority hinder other clients while they last. */
    @Override
    public long stragglersNanos(long majorityNanos) {
        return Math.max(MIN_STRAGGLERS_NANOS, STRAGGLERS * majorityNanos);
    }

    @Override
    public void asking(PolledMaster node, long mayRunUntilNanos) {
        node.unanswered.asking(candidate.question(ballot, mayRunUntilNanos));
    }

    @Override
    public void settled(PolledMaster node, long mayRunUntilNanos, Outcome outcome) {
        node.unanswered.settled(candidate.question(ballot, mayRunUntilNanos), outcome);
    }

    @Override
    @Nullable
    public Result judge(Answers answers) {
        List<VoteAnswer.Voted> votes = answers.votes(VoteAnswer.Voted.class).stream()
                .filter(vote -> !second || vote.token() == token)
                .toList();
        int open = answers.open();
        if (votes.size() >= majority) {
            return won(votes);
        }
        if (votes.size() + open >= majority) {
            return null;
        }
        if (answers.count("STALE") > 0) {
            return Result.of(new Reply("STALE", List.of()));
        }
        return lost(answers, open);
    }

    private Result won(List<VoteAnswer.Voted> votes) {
        long greatest = tokens(votes).max().orElseThrow();
        if (tokens(votes).filter(token -> token == greatest).count() < majority) {
            VotePoll round = new VotePoll(calls, candidate, ballot, greatest, true);
            return new Result(Outcome.of(busy(0)), round, null, false);
        }
        // The previous hold was released, not lost, if any of the nodes that report the greatest previous token reports
        // its release.
        long last =
                votes.stream().mapToLong(VoteAnswer.Voted::previousToken).max().orElseThrow();
        boolean released = votes.stream().anyMatch(vote -> vote.previousToken() == last && !vote.previousLost());
        return Result.of(new Reply(candidate.success, List.of(greatest, released ? 0L : 1L, QuorumCalls.NOW)));
    }

    private static LongStream tokens(List<VoteAnswer.Voted> votes) {
        return votes.stream().mapToLong(VoteAnswer.Voted::token);
    }

    private @Nullable Result lost(Answers answers, int open) {
        List<VoteAnswer.Taken> taken = answers.votes(VoteAnswer.Taken.class);
        int most = answers.mostTaken();
        Poll withdrawal = withdrawal(most >= majority ? Withdrawal.Place.HUSH : Withdrawal.Place.KEEP);
        int free = answers.votes(VoteAnswer.Voted.class).size();
        if (most >= majority) {
            long[] leases = taken.stream()
                    .mapToLong(VoteAnswer.Taken::pttlMillis)
                    .sorted()
                    .toArray();
            int needed = Math.max(1, majority - free);
            long wait = leases[Math.min(leases.length, needed) - 1];
            return new Result(Outcome.of(busy(wait)), null, withdrawal, false);
        }
        List<VoteAnswer.Young> started = answers.votes(VoteAnswer.Young.class);
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
        // If enough nodes answer, and a majority is missing only since some have just started, say how long that lasts.
        Outcome outcome = young.length < missing
                ? answers.noMajority("the lock", majority)
                : Outcome.of(new RedisException.Unready(answers.reasons("the lock", majority), young[missing - 1]));
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
