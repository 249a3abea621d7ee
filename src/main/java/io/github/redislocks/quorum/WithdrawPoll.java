package io.github.redislocks.quorum;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Reply;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * A poll that ends the votes of an attempt on all nodes of a quorum. The withdrawal is repeated on each node until the
 * node has confirmed it, or has no vote left.
 */
public final class WithdrawPoll extends MajorityPoll {

    private static final long PAUSE_NANOS = 500_000_000;

    private final Withdrawal order;
    /**
     * For each node: until when requests for votes may run there that were unanswered when this poll was sent; 0 if
     * there were none.
     */
    private final AtomicLongArray mayRunUntilNanos;

    public WithdrawPoll(QuorumCalls calls, Withdrawal order) {
        super(
                calls.nodes(),
                calls.withdraw(order),
                order.end() == Withdrawal.End.RELEASED ? Set.of("ENDED") : Set.of("ENDED", "GONE", Reply.UNASKED),
                order.end() == Withdrawal.End.RELEASED ? "FREED" : "DONE",
                Long.MAX_VALUE);
        this.order = order;
        this.mayRunUntilNanos = new AtomicLongArray(calls.nodes());
    }

    /**
     * The end of a hold concerns all nodes. Any other withdrawal concerns only nodes that may have a vote or a place of
     * the attempt.
     */
    @Override
    public boolean concerns(PolledMaster node) {
        return order.end() != Withdrawal.End.UNHELD || mayEnd(node);
    }

    private boolean mayEnd(PolledMaster node) {
        return order.place() == Withdrawal.Place.DROP
                ? node.unanswered.mayHave(order.attempt())
                : node.unanswered.mayHaveVote(order.attempt());
    }

    /** A withdrawal waits for the answer to a vote of the same attempt: sent before, it would have to be repeated. */
    @Override
    public boolean follows(Poll earlier) {
        return earlier instanceof VotePoll vote && vote.attempt() == order.attempt();
    }

    @Override
    public void sending(PolledMaster node) {
        mayRunUntilNanos.set(node.index, node.unanswered.mayRunUntilNanos(order.attempt()));
    }

    @Override
    public void settled(PolledMaster node, long ownQuietFromNanos, Outcome outcome) {
        if (outcome.failure() != null) {
            if (mayEnd(node)) {
                node.again(
                        order, System.nanoTime() + ThreadLocalRandom.current().nextLong(PAUSE_NANOS));
            }
            return;
        }
        // Withdraw again if a request for a vote may run, or may have run, after this withdrawal: a request that is
        // unanswered now, or was unanswered when the withdrawal was sent.
        long mayRunUntil = node.unanswered.mayRunUntilNanos(order.attempt());
        if (mayRunUntil != 0 || mayRunUntilNanos.get(node.index) != 0) {
            node.again(order, mayRunUntil != 0 ? mayRunUntil : System.nanoTime());
        } else {
            node.unanswered.withdrawn(order.attempt(), order.ballot(), order.place() == Withdrawal.Place.DROP);
        }
    }
}
