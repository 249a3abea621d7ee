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

/** A question to all nodes of a quorum, and what their answers come to: decided as soon as no further one matters. */
public abstract class Poll {

    /**
     * What it came to.
     *
     * @param outcome the answer to the client, if nothing is asked next
     * @param next what has to be asked besides, before there is an answer
     * @param after what is asked then without waiting for it, so that nothing is left behind
     * @param split whether several clients have votes and nobody a majority, so that asking once more may help
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

    /** The outcome of what is known without the answers of a majority. */
    static final Outcome UNASKED = Outcome.of(new Reply(Reply.UNASKED, List.of()));

    public final int majority;

    private final long beganNanos = System.nanoTime();
    private final ReentrantLock hearing = new ReentrantLock();
    private final Bell news = new Bell();
    private final List<@Nullable Outcome> outcomes;
    /** How many nodes have been heard, and how many of them with a reply of their own. */
    private int told;

    private int heard;
    /** How many of those had a vote to give: a master that has just started is one less, as one that is away. */
    private int voting;

    private volatile long stragglersUntilNanos = Long.MAX_VALUE;
    private volatile @Nullable Result result;

    public Poll(int nodes) {
        this.majority = nodes / 2 + 1;
        this.outcomes = new ArrayList<>(Collections.nCopies(nodes, null));
    }

    /** The question, as it is put to one node. RunId: of the server that is meant; empty if it need not be named. */
    public abstract Call call(PolledMaster node, String runId, long now, long timeoutNanos);

    /** What the answers heard until now come to, or null if more of them may change it. */
    public abstract @Nullable Result judge(Heard heard);

    /** How long one node is waited for at most. */
    public long patienceNanos() {
        return Long.MAX_VALUE;
    }

    /** How long the others are waited for at most, once a majority that may vote was heard after so long a time. */
    public long stragglersNanos(long majorityNanos) {
        return Long.MAX_VALUE;
    }

    /** Whether a node has to be asked: if not, it has nothing, as is known without its answer. */
    public boolean concerns(PolledMaster node) {
        return true;
    }

    /** Told before a node is asked, with the time from which on the request cannot run any more. */
    public void asking(PolledMaster node, long mayRunUntilNanos) {}

    /** Told when it is sent to a node: not every one that is asked is. */
    public void sending(PolledMaster node) {}

    /** Whether a node is to be asked only after it has answered an earlier poll. */
    public boolean follows(Poll earlier) {
        return false;
    }

    /** Told what became of it at a node, also after it was decided. */
    public void asked(PolledMaster node, long mayRunUntilNanos, Outcome outcome) {}

    public final void heard(PolledMaster node, Outcome outcome) {
        boolean changed = false;
        hearing.lock();
        try {
            if (result == null && outcomes.get(node.index) == null) {
                outcomes.set(node.index, outcome);
                Reply reply = outcome.reply();
                boolean own = reply != null && !reply.is(Reply.UNASKED);
                heard += own ? 1 : 0;
                boolean votes = reply != null && own && !reply.is("YOUNG");
                voting += votes ? 1 : 0;
                if (voting == majority && votes) {
                    long now = System.nanoTime();
                    long more = stragglersNanos(now - beganNanos);
                    stragglersUntilNanos = more == Long.MAX_VALUE ? more : now + more;
                    changed = true;
                }
                told++;
                if (told >= majority) {
                    // Before that nothing can be decided.
                    result = judge(new Heard(outcomes, false));
                    changed |= result != null;
                }
            }
        } finally {
            hearing.unlock();
        }
        if (changed) {
            // Not at each answer: what waits would wake for nothing, as often as there are nodes.
            news.ring();
        }
    }

    /**
     * Waits until it is decided, at most until a time; then by what was heard. An interrupt is kept. Pause: see
     * {@link Bell}.
     */
    public final Result await(long deadlineNanos, LongConsumer pause) {
        news.await(deadlineNanos, () -> result != null || stragglersUntilNanos != Long.MAX_VALUE, pause);
        if (stragglersUntilNanos != Long.MAX_VALUE) {
            boolean sooner = stragglersUntilNanos - deadlineNanos < 0;
            news.await(sooner ? stragglersUntilNanos : deadlineNanos, () -> result != null, pause);
        }
        hearing.lock();
        try {
            Result decided = result == null ? Objects.requireNonNull(judge(new Heard(outcomes, true))) : result;
            result = decided;
            return decided;
        } finally {
            hearing.unlock();
        }
    }

    /** Whether a majority has answered: what fewer know may be true, but does not say that the quorum is there. */
    final boolean isAnswered() {
        return result != null && heard >= majority;
    }

    /** What was heard until a moment; nodes that were not heard are open, or silent if nobody waits for them longer. */
    public static final class Heard {

        private final List<Reply> replies = new ArrayList<>();
        private final List<RedisException> failures = new ArrayList<>();
        private final int silent;
        private final boolean closed;

        public Heard(List<@Nullable Outcome> outcomes, boolean closed) {
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

        /** From how many nodes an answer may still come. */
        public int open() {
            return closed ? 0 : silent;
        }

        public List<Reply> replies(String code) {
            return replies.stream().filter(reply -> reply.is(code)).toList();
        }

        public int count(String code) {
            return replies(code).size();
        }

        /** Those to calls for votes that say this. */
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

        /** How many have given their vote to one and the same other owner. */
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

        /** That no majority could be had, with what each node said. */
        public Outcome noMajority(String what, int majority) {
            String text = reasons(what, majority);
            boolean refused =
                    silent == 0 && !failures.isEmpty() && failures.stream().allMatch(RedisException::isPermanent);
            if (refused) {
                return Outcome.of(new RedisException.Refused(text, failures.get(0)));
            }
            // A refusal as the cause means that the quorum is there: a majority has answered.
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

        /** What each node said that did not help to a majority. */
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
