package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import java.util.Set;

/**
 * A poll that renews a hold on all nodes of a quorum; those that are free, since they were away or forgot, give it
 * their vote. So it outlives the failure of all nodes, if they do not fail too many at a time.
 */
final class Reaffirmation extends Affirmation {

    private final QuorumCalls calls;
    private final Vote.Candidate holder;
    private final long ballot;
    private final long token;

    /** Holder: with the lease that is wanted now. Token: of the hold. */
    Reaffirmation(QuorumCalls calls, Call renewal, Vote.Candidate holder, long token) {
        super(calls.nodes(), renewal, Set.of("VOTED"), "OK", QuorumCalls.patienceNanos(holder.leaseMillis()));
        this.calls = calls;
        this.holder = holder;
        this.ballot = calls.nextBallot();
        this.token = token;
    }

    @Override
    Call call(QuorumNode node, long now, long timeoutNanos) {
        return calls.vote(holder, ballot, token, true, node.time.notAfterMicros(now, timeoutNanos));
    }

    @Override
    void asking(QuorumNode node, long quietFromNanos) {
        node.lateVotes.asking(holder.question(ballot, quietFromNanos));
    }

    @Override
    void asked(QuorumNode node, long quietFromNanos, Outcome outcome) {
        node.lateVotes.asked(holder.question(ballot, quietFromNanos), outcome);
    }
}
