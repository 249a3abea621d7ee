package io.github.redislocks;

import io.github.redislocks.redis.Outcome;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/** Ends a vote on all nodes of a quorum: each is told until it has heard it, or has nothing left that it could end. */
final class Withdrawal extends Affirmation {

    /** In good order, by unlock. */
    static final String RELEASED = "released";
    /** By the end of a hold that its owner had and did not release. */
    static final String LOST = "lost";
    /** Of an attempt that never was told that it has the lock. */
    static final String UNHELD = "unheld";

    /** With its place in line. */
    static final String DROP = "drop";
    /** Without that. */
    static final String KEEP = "keep";
    /** Without that, and so that nobody is told, since the lock is another's. */
    static final String HUSH = "hush";

    private static final long PAUSE_NANOS = 500_000_000;

    private final long attempt;
    private final long ballot;
    private final long untilNanos;

    /** Of one ballot that came to nothing; its place in line stays. Or of an attempt that ends, with its place. */
    Withdrawal(
            QuorumCalls calls, List<String> keys, String owner, long attempt, long ballot, String how, String place) {
        super(
                calls.nodes(),
                calls.withdraw(keys, owner, attempt, ballot, how, place),
                how.equals(RELEASED) ? Set.of("ENDED") : Set.of("ENDED", "GONE"),
                how.equals(RELEASED) ? "FREED" : "DONE",
                Long.MAX_VALUE);
        this.attempt = attempt;
        this.ballot = ballot;
        this.untilNanos = System.nanoTime() + calls.leftoverNanos();
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
    void asked(QuorumNode node, long quietFromNanos, Outcome outcome) {
        if (outcome.failure() != null) {
            if (!node.lateVotes.wasAsked(attempt)) {
                return;
            }
            long next = System.nanoTime() + ThreadLocalRandom.current().nextLong(PAUSE_NANOS);
            node.again(this, next);
        } else {
            // A vote that was asked for and not answered may still be given, after this.
            long quiet = node.lateVotes.quietFromNanos(attempt);
            if (quiet != 0) {
                node.again(this, quiet);
            }
        }
    }
}
