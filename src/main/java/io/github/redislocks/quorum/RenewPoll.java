package io.github.redislocks.quorum;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Reply;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * A poll that renews a hold on all nodes of a quorum; those that are free, since they were away or forgot, give it
 * their vote. So it outlives the failure of all nodes, if they do not fail too many at a time.
 *
 * <p>A node that has counted a later vote, which has ended there by its lease, gives none: that vote may have been one
 * of a later hold. It was not if a majority had kept the votes of this hold until then: so the renewal after that has
 * the node give its vote nevertheless.
 */
public final class RenewPoll extends MajorityPoll {

    /** What one renewal found. */
    public static final class Round {

        /** In place of one before the first. */
        public static final Round NONE = new Round(0);

        private final int majority;
        private final AtomicInteger kept = new AtomicInteger();
        private final AtomicLongArray lapsed;

        public Round(int nodes) {
            majority = nodes / 2 + 1;
            lapsed = new AtomicLongArray(nodes);
        }

        private void heard(int node, @Nullable Reply reply) {
            // Of a copy it is not known whether the one before it found the vote, or was given it.
            VoteAnswer answer = reply == null ? VoteAnswer.Word.NONE : VoteAnswer.of(reply);
            if (answer instanceof VoteAnswer.Voted vote && vote.kept() && reply != null && !reply.resent()) {
                kept.incrementAndGet();
            } else if (answer instanceof VoteAnswer.Gone gone) {
                lapsed.set(node, gone.lapsed());
            }
        }

        /** The token of a vote that ended on a node by its lease, and came to nothing; 0 if none is known. */
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
     * @param holder with the lease that is wanted now
     * @param token of the hold
     * @param before the renewal before this
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
    public void asked(PolledMaster node, long mayRunUntilNanos, Outcome outcome) {
        node.unanswered.asked(holder.question(ballot, mayRunUntilNanos), outcome);
        round.heard(node.index, outcome.reply());
    }
}
