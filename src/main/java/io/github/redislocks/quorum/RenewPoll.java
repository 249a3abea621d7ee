package io.github.redislocks.quorum;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Reply;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * A poll that renews a hold on all nodes of a quorum. A node on which the lock is free, since the node was away or
 * forgot its vote, gives its vote to the hold. So a hold may survive a failure of every node, if no majority fails at
 * the same time.
 *
 * <p>A node may have given a later vote, which has expired. Such a node does not vote for this hold, since the later
 * vote may have belonged to a later hold. But if a majority kept its votes for this hold all the time, there was no
 * later hold. The next renewal tells the node so, and the node votes for this hold.
 */
public final class RenewPoll extends MajorityPoll {

    /** The answers to one renewal. */
    public static final class Round {

        /** The round before the first renewal. */
        public static final Round NONE = new Round(0);

        private final int majority;
        private final AtomicInteger kept = new AtomicInteger();
        private final AtomicLongArray lapsed;

        public Round(int nodes) {
            majority = nodes / 2 + 1;
            lapsed = new AtomicLongArray(nodes);
        }

        private void note(int node, @Nullable Reply reply) {
            // Do not count the reply to a second copy of the request: it does not show whether the node had the vote
            // before the first copy.
            VoteAnswer answer = reply == null ? VoteAnswer.Word.NONE : VoteAnswer.of(reply);
            if (answer instanceof VoteAnswer.Voted vote && vote.kept() && reply != null && !reply.resent()) {
                kept.incrementAndGet();
            } else if (answer instanceof VoteAnswer.Gone gone) {
                lapsed.set(node, gone.lapsed());
            }
        }

        /** The token of a vote that expired on the node and had no majority; 0 if none is known. */
        private long lapsed(int node) {
            return kept.get() >= majority ? lapsed.get(node) : 0;
        }
    }

    private final QuorumCalls calls;
    private final VotePoll.Candidate holder;
    private final long ballot;
    private final long token;
    private final Round before;
    private final Round round;

    /**
     * @param holder the holder, with the new lease
     * @param token the token of the hold
     * @param before the round of the previous renewal, or {@link Round#NONE}
     */
    public RenewPoll(QuorumCalls calls, Call renewal, VotePoll.Candidate holder, long token, Round before) {
        super(calls.nodes(), renewal, Set.of("VOTED"), "OK", QuorumCalls.patienceNanos(holder.leaseMillis()));
        this.calls = calls;
        this.holder = holder;
        this.ballot = calls.nextBallot();
        this.token = token;
        this.before = before;
        this.round = new Round(calls.nodes());
    }

    public Round round() {
        return round;
    }

    @Override
    public Call call(PolledMaster node, String runId, long now, long timeoutNanos) {
        return calls.renewal(
                holder, ballot, token, before.lapsed(node.index), QuorumCalls.At.of(node, runId, now, timeoutNanos));
    }

    @Override
    public void asking(PolledMaster node, long mayRunUntilNanos) {
        node.unanswered.asking(holder.question(ballot, mayRunUntilNanos));
    }

    @Override
    public void settled(PolledMaster node, long mayRunUntilNanos, Outcome outcome) {
        node.unanswered.settled(holder.question(ballot, mayRunUntilNanos), outcome);
        round.note(node.index, outcome.reply());
    }
}
