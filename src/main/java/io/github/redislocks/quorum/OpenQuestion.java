package io.github.redislocks.quorum;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.List;
import java.util.Objects;

/**
 * One question to one node, on its way: its poll is told what became of it.
 *
 * @param deadlineNanos by when it has to be answered
 * @param resent whether an earlier copy than the one that is under way may have run
 */
record OpenQuestion(Poll poll, Ask ask, long deadlineNanos, boolean resent) {

    static long latest(List<OpenQuestion> questions) {
        long latest = questions.get(0).deadlineNanos;
        for (OpenQuestion question : questions) {
            latest = question.deadlineNanos - latest > 0 ? question.deadlineNanos : latest;
        }
        return latest;
    }

    /** To be asked once more, since it was late. */
    OpenQuestion late(Outcome outcome) {
        Reply reply = outcome.reply();
        return reply != null && reply.resent() ? again() : this;
    }

    /** To be asked once more, though it may have run. */
    OpenQuestion again() {
        return new OpenQuestion(poll, ask, deadlineNanos, true);
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
}
