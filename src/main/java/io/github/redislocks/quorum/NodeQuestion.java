package io.github.redislocks.quorum;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.List;
import java.util.Objects;

/**
 * The question of one poll to one node. It lives until the poll has the outcome. Only the thread that uses the
 * question's batch changes the question. Two questions are never equal.
 */
final class NodeQuestion {

    final Poll poll;
    private final long deadlineNanos;
    private long untilNanos;
    /** Whether an earlier copy of the current request may have run. */
    private boolean resent;

    private boolean answered;

    NodeQuestion(Poll poll, long deadlineNanos) {
        this.poll = poll;
        this.deadlineNanos = deadlineNanos;
    }

    /** Until when a request of this question may run on the server. */
    long mayRunUntilNanos() {
        return deadlineNanos + QuorumServer.LATE_MARGIN_NANOS;
    }

    /** Starts the time that the poll allows the node; returns false if no time is left. */
    boolean startTime(long now) {
        long patience = poll.patienceNanos();
        boolean shorter = patience != Long.MAX_VALUE && now + patience - deadlineNanos < 0;
        untilNanos = shorter ? now + patience : deadlineNanos;
        return untilNanos - now > 0;
    }

    /** How long to wait for an answer; a nanosecond at least. */
    long leftNanos(long now) {
        return Math.max(1, untilNanos - now);
    }

    /** Notes that a copy of the request may have run, and that another copy will be sent. */
    void mayHaveRun() {
        resent = true;
    }

    boolean isAnswered() {
        return answered;
    }

    /** Gives the poll the outcome, unless the question was answered before. */
    void answer(PolledMaster node, Outcome outcome) {
        if (answered) {
            return;
        }
        answered = true;
        Outcome given = ofAllCopies(outcome);
        try {
            poll.settled(node, mayRunUntilNanos(), given);
        } finally {
            poll.answered(node, given);
        }
    }

    /** Answers a question that need not be sent. */
    void answerUnasked(PolledMaster node) {
        answered = true;
        poll.answered(node, Poll.UNASKED);
    }

    /** Returns the outcome of the last copy. If there were earlier copies, the outcome says that one may have run. */
    private Outcome ofAllCopies(Outcome last) {
        if (!resent) {
            return last;
        }
        Reply reply = last.reply();
        if (reply != null) {
            return Outcome.of(reply.resentOnce());
        }
        RedisException failure = Objects.requireNonNull(last.failure());
        return Outcome.of(new RedisException.Unanswered(String.valueOf(failure.getMessage()), true, failure));
    }

    /** Whether this question must wait for the answer to one of the given questions. */
    boolean isAfterAnyOf(List<NodeQuestion> others) {
        for (NodeQuestion other : others) {
            if (poll.follows(other.poll)) {
                return true;
            }
        }
        return false;
    }
}
