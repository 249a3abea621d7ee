package io.github.redislocks;

import io.github.redislocks.redis.Outcome;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * A poll that ends a vote on all nodes of a quorum: each is told until it has heard it, or has nothing left that it
 * could end.
 */
final class Withdrawal extends Affirmation {

    /** How a hold, or what might have become one, ends. */
    enum End {
        /** In good order, by unlock. */
        RELEASED,
        /** Its owner had it, and did not release it. */
        LOST,
        /** Nobody was ever told that he has it. */
        UNHELD
    }

    /** What becomes of the owner's place in line. */
    enum Place {
        DROP,
        KEEP,
        /** Kept, and nobody is told to ask, since the lock is another's. */
        HUSH
    }

    private static final long PAUSE_NANOS = 500_000_000;

    private final End end;
    private final long attempt;
    private final long ballot;
    private final long untilNanos;
    /** By node: from when on no vote can be given that had not been answered when this was sent; 0 if all had. */
    private final AtomicLongArray quietFromNanos;

    /** Of one ballot that came to nothing; its place in line stays. Or of an attempt that ends, with its place. */
    Withdrawal(QuorumCalls calls, List<String> keys, String owner, long attempt, long ballot, End end, Place place) {
        super(
                calls.nodes(),
                calls.withdraw(keys, owner, attempt, ballot, end, place),
                end == End.RELEASED ? Set.of("ENDED") : Set.of("ENDED", "GONE"),
                end == End.RELEASED ? "FREED" : "DONE",
                Long.MAX_VALUE);
        this.end = end;
        this.attempt = attempt;
        this.ballot = ballot;
        this.untilNanos = System.nanoTime() + calls.leftoverNanos();
        this.quietFromNanos = new AtomicLongArray(calls.nodes());
    }

    long attempt() {
        return attempt;
    }

    long ballot() {
        return ballot;
    }

    boolean isOver(long now) {
        return now - untilNanos >= 0;
    }

    @Override
    void sending(QuorumNode node) {
        quietFromNanos.set(node.index, node.lateVotes.quietFromNanos(attempt));
    }

    @Override
    void asked(QuorumNode node, long ownQuietFromNanos, Outcome outcome) {
        if (outcome.failure() != null) {
            if (end == End.UNHELD && !node.lateVotes.wasSent(attempt)) {
                return;
            }
            long next = System.nanoTime() + ThreadLocalRandom.current().nextLong(PAUSE_NANOS);
            node.again(this, next);
        } else {
            // A vote that was asked for and not answered may still be given, after this; and one that has been answered
            // since this was sent may have been.
            long quiet = node.lateVotes.quietFromNanos(attempt);
            if (quiet != 0 || quietFromNanos.get(node.index) != 0) {
                node.again(this, quiet != 0 ? quiet : System.nanoTime());
            }
        }
    }
}
