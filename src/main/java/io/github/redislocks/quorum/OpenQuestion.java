package io.github.redislocks.quorum;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.List;
import java.util.Objects;

/**
 * The question of a poll to one node, on its way: the poll is told what became of it. Only the thread that has taken
 * the question changes it. Two are never equal.
 */
final class OpenQuestion {

    final Poll poll;
    private final long deadlineNanos;
    private long untilNanos;
    /** Whether an earlier copy than the one that is under way may have run. */
    private boolean resent;

    OpenQuestion(Poll poll, long deadlineNanos) {
        this.poll = poll;
        this.deadlineNanos = deadlineNanos;
    }

    /** From when on no request of it can run any more. */
    long mayRunUntilNanos() {
        return deadlineNanos + QuorumServer.LATE_MARGIN_NANOS;
    }

    /** Gives the node from now on as long as the poll waits for one node; returns false if no time is left. */
    boolean begin(long now) {
        long patience = poll.patienceNanos();
        boolean shorter = patience != Long.MAX_VALUE && now + patience - deadlineNanos < 0;
        untilNanos = shorter ? now + patience : deadlineNanos;
        return untilNanos - now > 0;
    }

    /** How long an answer is waited for; a nanosecond at least. */
    long leftNanos(long now) {
        return Math.max(1, untilNanos - now);
    }

    /** Notes that a copy may have run before the next one. */
    void mayHaveRun() {
        resent = true;
    }

    /** What becomes of a later copy does not say that no earlier one has run. */
    Outcome told(Outcome outcome) {
        if (!resent) {
            return outcome;
        }
        Reply reply = outcome.reply();
        if (reply != null) {
            return Outcome.of(reply.resentOnce());
        }
        RedisException failure = Objects.requireNonNull(outcome.failure());
        return Outcome.of(new RedisException.Unanswered(String.valueOf(failure.getMessage()), true, failure));
    }

    /**
     * Whether it depends on what one of these is answered first. Without an iterator, which needs memory: what has been
     * taken must not be lost for want of it.
     */
    boolean isAfterAnyOf(List<OpenQuestion> others) {
        for (int i = 0; i < others.size(); i++) {
            if (poll.follows(others.get(i).poll)) {
                return true;
            }
        }
        return false;
    }
}
