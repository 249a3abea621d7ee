package io.github.redislocks.quorum;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Questions that are sent to one node together, until each poll has its outcome.
 *
 * <pre>
 * quickly: the thread that starts the batch sends it and does not wait; the reader of all nodes receives the answers
 * slowly:  a thread of the node sends it and waits, and may connect: without a quick connection, or after it broke; if
 *          the node does not answer, is new or is another server than before; and for requests that ran too late
 * </pre>
 *
 * <p>One thread at a time has a batch. Whatever a step throws, the {@link QuorumNode} calls {@link #answerRest} for the
 * questions that are left.
 */
final class NodeBatch {

    private final QuorumNode node;
    private final boolean background;
    /** The questions that may still have to be answered. */
    private List<NodeQuestion> open;

    private long sentNanos;
    /** The time for the answers: the longest that any open question allowed when the batch was sent. */
    private long timeoutNanos;

    /** Makes a batch of these questions. The caller may add questions until it starts the batch. */
    NodeBatch(QuorumNode node, List<NodeQuestion> questions, boolean background) {
        this.node = node;
        this.open = questions;
        this.background = background;
    }

    /** Answers the questions that need not be sent any more; returns whether any are left. */
    boolean isWanted() {
        long now = System.nanoTime();
        List<NodeQuestion> wanted = new ArrayList<>(open.size());
        for (NodeQuestion question : open) {
            if (question.isAnswered()) {
                continue;
            }
            if (!question.poll.concerns(node)) {
                // The answer to a vote that was under way has made this question needless.
                question.answerUnasked(node);
            } else if (question.startTime(now)) {
                wanted.add(question);
            } else {
                question.answer(node, QuorumNode.unsent(node.redis.address() + ": there was no time left to ask"));
            }
        }
        open = wanted;
        return !wanted.isEmpty();
    }

    /** Sends the questions and returns at once; returns false if that is not possible. */
    boolean sendQuickly(Consumer<@Nullable List<Outcome>> receiver) {
        if (!node.health.isSound() || !node.server.isTrusted()) {
            return false;
        }
        String server = node.server.runId();
        List<Call> requests = requests(true);
        return node.redis.submit(server, requests, timeoutNanos, receiver);
    }

    /** Gives the polls their outcomes; returns false if a thread of the node must do more for one of them first. */
    boolean answerQuickly(@Nullable List<Outcome> outcomes) {
        if (outcomes == null || !node.health.isSound()) {
            // The node may have become sound again, which has to be logged, and logging may take long.
            return false;
        }
        for (Outcome outcome : outcomes) {
            if (outcome.reply() == null || VoteAnswer.of(outcome).wantsAnother()) {
                return false;
            }
        }
        node.health.answered();
        for (Outcome outcome : outcomes) {
            learn(outcome);
        }
        for (int i = 0; i < outcomes.size(); i++) {
            open.get(i).answer(node, outcomes.get(i));
        }
        return true;
    }

    /**
     * Sends the questions and waits for the answers. The time of the questions starts now, however long this thread
     * took to start.
     */
    void askSlowly() {
        if (isWanted()) {
            slowly(this::checkedPass);
        }
    }

    /** Completes a batch that was sent quickly: asks again, checks another server, or reports a failure. */
    void completeSlowly(@Nullable List<Outcome> outcomes) {
        if (outcomes == null) {
            open.forEach(NodeQuestion::mayHaveRun);
            slowly(this::checkedPass);
        } else {
            slowly(() -> settled(outcomes));
        }
    }

    /** Runs a first pass, and then a second one with the questions that the first pass returns. */
    private void slowly(Supplier<List<NodeQuestion>> first) {
        long timeout = leftNanos(System.nanoTime());
        try {
            open = first.get();
            long left = leftNanos(System.nanoTime());
            if (!open.isEmpty() && left > 1) {
                // There are two reasons to ask again. The requests were late: the answers contained the server's time,
                // so the next requests are not late. Or another server answered: it is checked first.
                node.server.checkOnce(left);
                open = pass();
            }
            answerAll(Outcome.of(new Reply("LATE", List.of())));
        } catch (RedisException e) {
            // While an objection stands, the server is not asked, so the failure says nothing about its health.
            boolean asked = node.server.objection() == null;
            if (asked) {
                node.health.note(List.of(Outcome.of(e)), timeout);
            } else {
                node.health.unknown();
            }
            answerAll(Outcome.of(node.health.named(e)));
        }
    }

    /** Answers the questions that are open. */
    void answerAll(Outcome outcome) {
        for (NodeQuestion question : open) {
            question.answer(node, outcome);
        }
    }

    /** Answers the questions that an error has left open: their requests may have run. */
    void answerRest() {
        for (NodeQuestion question : open) {
            if (!question.isAnswered()) {
                question.answer(
                        node,
                        Outcome.of(new RedisException.Unanswered(
                                node.redis.address() + ": the call met an error", true, null)));
            }
        }
    }

    /** The longest time that any open question allows for its answer; a nanosecond at least. */
    private long leftNanos(long now) {
        long longest = 1;
        for (NodeQuestion question : open) {
            longest = Math.max(longest, question.leftNanos(now));
        }
        return longest;
    }

    /** The requests. On a quick connection, they do not name the server: the connection leads to the right one. */
    private List<Call> requests(boolean quickly) {
        sentNanos = System.nanoTime();
        timeoutNanos = leftNanos(sentNanos);
        String named = quickly ? "" : node.server.runId();
        List<Call> requests = new ArrayList<>(open.size());
        for (NodeQuestion question : open) {
            question.poll.sending(node);
            requests.add(question.poll.call(node, named, sentNanos, question.leftNanos(sentNanos)));
        }
        return requests;
    }

    /**
     * The first pass of questions that were not sent. If the node must not be asked now, fails them; throws if the node
     * cannot be part of a quorum.
     */
    private List<NodeQuestion> checkedPass() {
        long now = System.nanoTime();
        long left = leftNanos(now);
        if (!node.health.enter(now, left)) {
            answerAll(QuorumNode.unsent(node.health.why()));
            return List.of();
        }
        node.server.checkOnce(left);
        return pass();
    }

    /** Sends the open questions, and returns those to send again, since the answers showed more about the server. */
    private List<NodeQuestion> pass() {
        List<Call> requests = requests(false);
        return settled(
                background || requests.size() > 1
                        ? node.redis.runAll(requests, timeoutNanos)
                        : List.of(run(requests.get(0))));
    }

    private Outcome run(Call call) {
        try {
            return Outcome.of(node.redis.run(call, timeoutNanos));
        } catch (RedisException e) {
            return Outcome.of(e);
        }
    }

    /** Gives the polls their outcomes, and returns the questions to send once more. */
    private List<NodeQuestion> settled(List<Outcome> outcomes) {
        node.health.note(outcomes, timeoutNanos);
        outcomes.forEach(this::learn);
        List<NodeQuestion> again = new ArrayList<>();
        for (int i = 0; i < outcomes.size(); i++) {
            NodeQuestion question = open.get(i);
            Outcome outcome = outcomes.get(i);
            Reply reply = outcome.reply();
            RedisException failure = outcome.failure();
            if (!VoteAnswer.of(outcome).wantsAnother()) {
                question.answer(node, failure == null ? outcome : Outcome.of(node.health.named(failure)));
            } else {
                if (reply != null && reply.resent()) {
                    question.mayHaveRun();
                }
                again.add(question);
            }
        }
        return again;
    }

    /** Notes what an outcome shows about the server. */
    private void learn(Outcome outcome) {
        Reply reply = outcome.reply();
        if (outcome.failure() instanceof RedisException.Refused refused && refused.says("READONLY")) {
            node.server.becameReplica();
            return;
        }
        VoteAnswer answer = VoteAnswer.of(outcome);
        if (answer == VoteAnswer.Word.OTHER) {
            node.server.doubt();
        } else if (reply != null && answer.hasTime()) {
            node.server.answered(reply.now());
            // Count from the sending, but at most LATE_MARGIN_NANOS back. An estimate that was ahead of the server's
            // clock by more than the margin would let a request run after this client believes that the request
            // cannot. An estimate that is behind does less harm: at worst a request is refused as late, and sent
            // again.
            node.time.saw(reply, Math.max(sentNanos, System.nanoTime() - QuorumServer.LATE_MARGIN_NANOS));
        }
    }
}
