package io.github.redislocks.quorum;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Reply;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * A poll that ends a vote on all nodes of a quorum: each is told until it has heard it, or has nothing left that it
 * could end.
 */
public final class WithdrawPoll extends MajorityPoll {

    private static final long PAUSE_NANOS = 500_000_000;

    private final Withdrawal order;
    /** By node: from when on no vote can be given that had not been answered when this was sent; 0 if all had. */
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

    /** The end of a hold is told to all; else those that have nothing of it are left alone. */
    @Override
    public boolean concerns(PolledMaster node) {
        return order.end() != Withdrawal.End.UNHELD || mayEnd(node);
    }

    private boolean mayEnd(PolledMaster node) {
        return order.place() == Withdrawal.Place.DROP
                ? node.unanswered.mayHave(order.attempt())
                : node.unanswered.mayHaveVote(order.attempt());
    }

    /** A vote of its attempt: if that has been answered, nothing of it is left to be withdrawn once more. */
    @Override
    public boolean follows(Poll earlier) {
        return earlier instanceof VotePoll vote && vote.attempt() == order.attempt();
    }

    @Override
    public void sending(PolledMaster node) {
        mayRunUntilNanos.set(node.index, node.unanswered.mayRunUntilNanos(order.attempt()));
    }

    @Override
    public void asked(PolledMaster node, long ownQuietFromNanos, Outcome outcome) {
        if (outcome.failure() != null) {
            if (mayEnd(node)) {
                node.again(
                        order, System.nanoTime() + ThreadLocalRandom.current().nextLong(PAUSE_NANOS));
            }
            return;
        }
        // A vote that was asked for and not answered may still be given, after this; and one that has been answered
        // since this was sent may have been.
        long mayRunUntil = node.unanswered.mayRunUntilNanos(order.attempt());
        if (mayRunUntil != 0 || mayRunUntilNanos.get(node.index) != 0) {
            node.again(order, mayRunUntil != 0 ? mayRunUntil : System.nanoTime());
        } else {
            node.unanswered.withdrawn(order.attempt(), order.ballot(), order.place() == Withdrawal.Place.DROP);
        }
    }
}
