package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.Bell;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A question to all nodes of a quorum, with its result. The result is known as soon as no further answer can change it.
 */
public abstract class Poll {

    /**
     * The result of a poll.
     *
     * @param outcome the answer to the client, unless there is a next poll
     * @param next the poll that has to follow before the client gets an answer, or null
     * @param after a poll that cleans up and for which the client does not wait, or null
     * @param split whether several clients have votes and none has a majority, so that asking again may help
     */
    public record Result(
            Outcome outcome, @Nullable Poll next, @Nullable Poll after, boolean split) {

        public static Result of(Reply reply) {
            return of(Outcome.of(reply));
        }

        public static Result of(Outcome outcome) {
            return new Result(outcome, null, null, false);
        }
    }

    /** The outcome at a node that need not be asked. */
    static final Outcome UNASKED = Outcome.of(new Reply(Reply.UNASKED, List.of()));

    public final int majority;

    private final long beganNanos = System.nanoTime();
    private final ReentrantLock changing = new ReentrantLock();
    private final Bell news = new Bell();
    private final List<@Nullable Outcome> outcomes;
    /** The number of nodes that have an outcome. */
    private int outcomeCount;

    private int replyCount;
    /** The number of nodes that have replied as voters: a server that has just started does not vote. */
    private int voting;

    private volatile long stragglersUntilNanos = Long.MAX_VALUE;
    private volatile @Nullable Result result;

    public Poll(int nodes) {
        this.majority = nodes / 2 + 1;
        this.outcomes = new ArrayList<>(Collections.nCopies(nodes, null));
    }

    /**
     * The call for one node.
     *
     * @param runId the run id of the server that may answer; empty if any may
     */
    public abstract Call call(PolledMaster node, String runId, long now, long timeoutNanos);

    /** Returns the result of the answers so far, or null if further answers may change it. */
    public abstract @Nullable Result judge(Answers answers);

    /** How long the poll waits for one node at most. */
    public long patienceNanos() {
        return Long.MAX_VALUE;
    }

    /**
     * How long to wait for the other nodes once a majority of voting nodes has answered.
     *
     * @param majorityNanos how long the majority took to answer
     */
    public long stragglersNanos(long majorityNanos) {
        return Long.MAX_VALUE;
    }

    /** Whether a node has to be asked. The outcome at any other node is {@link #UNASKED}. */
    public boolean concerns(PolledMaster node) {
        return true;
    }

    /**
     * Called before a node is asked.
     *
     * @param mayRunUntilNanos until when the request may run on the node
     */
    public void asking(PolledMaster node, long mayRunUntilNanos) {}

    /** Called when the request is sent to a node. Not every node that {@link #asking} named is sent a request. */
    public void sending(PolledMaster node) {}

    /** Whether a node must answer the given earlier poll before this question is sent to it. */
    public boolean follows(Poll earlier) {
        return false;
    }

    /** Called with the outcome at each node that was asked, even after the result is known. */
    public void settled(PolledMaster node, long mayRunUntilNanos, Outcome outcome) {}

    public final void answered(PolledMaster node, Outcome outcome) {
        boolean changed = false;
        changing.lock();
        try {
            if (result == null && outcomes.get(node.index) == null) {
                outcomes.set(node.index, outcome);
                Reply reply = outcome.reply();
                boolean own = reply != null && !reply.is(Reply.UNASKED);
                replyCount += own ? 1 : 0;
                boolean votes = reply != null && own && !reply.is("YOUNG");
                voting += votes ? 1 : 0;
                if (voting == majority && votes) {
                    long now = System.nanoTime();
                    long more = stragglersNanos(now - beganNanos);
                    stragglersUntilNanos = more == Long.MAX_VALUE ? more : now + more;
                    changed = true;
                }
                outcomeCount++;
                if (outcomeCount >= majority) {
                    // Fewer answers than a majority decide nothing.
                    result = judge(new Answers(outcomes, false));
                    changed |= result != null;
                }
            }
        } finally {
            changing.unlock();
        }
        if (changed) {
            // Ring only when something has changed: ringing at each answer would wake the waiting thread in vain.
            news.ring();
        }
    }

    /**
     * Waits until the result is known, or until {@code deadlineNanos}; then the result follows from the answers so far.
     * An interrupt does not end the wait; its flag is set again.
     *
     * @param pause as in {@link Bell#await(long, java.util.function.BooleanSupplier, LongConsumer)}
     */
    public final Result await(long deadlineNanos, LongConsumer pause) {
        news.await(deadlineNanos, () -> result != null || stragglersUntilNanos != Long.MAX_VALUE, pause);
        if (stragglersUntilNanos != Long.MAX_VALUE) {
            boolean sooner = stragglersUntilNanos - deadlineNanos < 0;
            news.await(sooner ? stragglersUntilNanos : deadlineNanos, () -> result != null, pause);
        }
        changing.lock();
        try {
            Result decided = result == null ? Objects.requireNonNull(judge(new Answers(outcomes, true))) : result;
            result = decided;
            return decided;
        } finally {
            changing.unlock();
        }
    }

    /** Whether a majority has answered. A result of fewer answers does not show that the quorum works. */
    final boolean isAnswered() {
        return result != null && replyCount >= majority;
    }

    /**
     * The answers so far. A node without an outcome is <i>open</i>; once the wait is over, such a node counts as
     * silent.
     */
    public static final class Answers {

        private final List<Reply> replies = new ArrayList<>();
        private final List<RedisException> failures = new ArrayList<>();
        private final int silent;
        private final boolean closed;

        public Answers(List<@Nullable Outcome> outcomes, boolean closed) {
            this.closed = closed;
            for (Outcome outcome : outcomes) {
                if (outcome != null && outcome.reply() != null) {
                    replies.add(outcome.reply());
                } else if (outcome != null && outcome.failure() != null) {
                    failures.add(outcome.failure());
                }
            }
            silent = outcomes.size() - replies.size() - failures.size();
        }

        public List<Reply> replies() {
            return replies;
        }

        /** The number of nodes that may still answer. */
        public int open() {
            return closed ? 0 : silent;
        }

        public List<Reply> replies(String code) {
            return replies.stream().filter(reply -> reply.is(code)).toList();
        }

        public int count(String code) {
            return replies(code).size();
        }

        /** The answers to a vote that are of the given kind. */
        public <T extends VoteAnswer> List<T> votes(Class<T> kind) {
            List<T> votes = new ArrayList<>(replies.size());
            for (Reply reply : replies) {
                VoteAnswer answer = VoteAnswer.of(reply);
                if (kind.isInstance(answer)) {
                    votes.add(kind.cast(answer));
                }
            }
            return votes;
        }

        /** The votes of the other owner that has the most. */
        public int mostTaken() {
            Map<String, Integer> owners = new HashMap<>();
            for (VoteAnswer.Taken taken : votes(VoteAnswer.Taken.class)) {
                owners.merge(taken.owner(), 1, Integer::sum);
            }
            return owners.values().stream().mapToInt(count -> count).max().orElse(0);
        }

        public boolean resent() {
            return replies.stream().anyMatch(Reply::resent);
        }

        /** The outcome of a question that a majority did not answer, with the reasons. */
        public Outcome noMajority(String what, int majority) {
            String text = reasons(what, majority);
            boolean refused =
                    silent == 0 && !failures.isEmpty() && failures.stream().allMatch(RedisException::isPermanent);
            if (refused) {
                return Outcome.of(new RedisException.Refused(text, failures.get(0)));
            }
            // Name a refusal as the cause only if a majority has answered, since callers conclude from such a cause
            // that the quorum works.
            long refusals = failures.stream()
                    .filter(RedisException.Refused.class::isInstance)
                    .count();
            boolean refuses = refusals > 0 && replies.size() + refusals >= majority;
            RedisException cause = failures.stream()
                    .filter(failure -> failure instanceof RedisException.Refused == refuses)
                    .findFirst()
                    .orElse(null);
            return Outcome.of(new RedisException.Unanswered(text, true, cause));
        }

        /** A text with the reason of each node that is missing for a majority. */
        public String reasons(String what, int majority) {
            List<String> reasons = new ArrayList<>();
            for (RedisException failure : failures) {
                reasons.add(String.valueOf(failure.getMessage()));
            }
            if (silent > 0) {
                reasons.add(silent + " did not answer in time");
            }
            for (VoteAnswer.Young young : votes(VoteAnswer.Young.class)) {
                reasons.add("one has just started, and gives no vote for another " + young.waitMillis() + " ms");
            }
            int nodes = replies.size() + failures.size() + silent;
            return what + " needs " + majority + " of " + nodes + " masters: " + String.join("; ", reasons);
        }
    }
}
