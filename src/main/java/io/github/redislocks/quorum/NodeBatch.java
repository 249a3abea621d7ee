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
 * Questions that are sent to one node together. A batch lives until the poll of each question has its outcome.
 *
 * <pre>
 * quickly: the thread that starts the batch sends it and does not wait; the reader of all nodes receives the answers
 * slowly:  a thread of the node sends it and waits, and may connect. This way is used
 *          - without a quick connection, or after that connection broke
 *          - if the node does not answer, is new, or is another server than before
 *          - for requests that ran too late
 * </pre>
 *
 * <p>One thread at a time uses a batch. If that thread meets an error, the {@link QuorumNode} calls {@link #answerRest}
 * for the questions that have no answer.
 */
final class NodeBatch {

    private final QuorumNode node;
    private final boolean background;
    /** The questions that may still be without an answer. */
    private List<NodeQuestion> open;

    private long sentNanos;
    /** How long to wait for the answers: the longest time that any question allowed when the batch was sent. */
    private long timeoutNanos;

    /** Makes a batch. The caller may add questions to the list until it starts the batch. */
    NodeBatch(QuorumNode node, List<NodeQuestion> questions, boolean background) {
        this.node = node;
        this.open = questions;
        this.background = background;
    }

    /** Answers the questions that need not be sent any more; returns true if other questions are left. */
    boolean isWanted() {
        long now = System.nanoTime();
        List<NodeQuestion> wanted = new ArrayList<>(open.size());
        for (NodeQuestion question : open) {
            if (question.isAnswered()) {
                continue;
            }
            if (!question.poll.concerns(node)) {
                // The answer to a vote has meanwhile made this question needless.
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

    /**
     * Gives the polls their outcomes. Returns false, and gives none, if a thread of the node must do more for one of
     * the questions first.
     */
    boolean answerQuickly(@Nullable List<Outcome> outcomes) {
        if (outcomes == null || !node.health.isSound()) {
            // If the node has become sound again, that has to be logged, which may take long.
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
     * Sends the questions and waits for the answers. The time that each poll allows the node starts now, however long
     * this thread took to start.
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

    /** Makes a first pass, and a second one with the questions that the first pass returns. */
    private void slowly(Supplier<List<NodeQuestion>> first) {
        long timeout = leftNanos(System.nanoTime());
        try {
            open = first.get();
            long left = leftNanos(System.nanoTime());
            if (!open.isEmpty() && left > 1) {
                // The last requests of the open questions changed nothing, for one of two reasons. They ran too late:
                // the answers contain the server's time, from which the new deadlines follow. Or another server
                // answered: checkOnce() checks that server before the questions are sent again.
                node.server.checkOnce(left);
                open = pass();
            }
            answerAll(Outcome.of(new Reply("LATE", List.of())));
        } catch (RedisException e) {
            // A server with an objection was not asked, so the failure says nothing about its health.
            boolean asked = node.server.objection() == null;
            if (asked) {
                node.health.note(List.of(Outcome.of(e)), timeout);
            } else {
                node.health.unknown();
            }
            answerAll(Outcome.of(node.health.named(e)));
        }
    }

    /** Answers all questions that have no answer yet. */
    void answerAll(Outcome outcome) {
        for (NodeQuestion question : open) {
            question.answer(node, outcome);
        }
    }

    /** Answers the questions that an error has left without an answer. Their requests may have run. */
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

    /** The longest time that any question still allows for its answer; a nanosecond at least. */
    private long leftNanos(long now) {
        long longest = 1;
        for (NodeQuestion question : open) {
            longest = Math.max(longest, question.leftNanos(now));
        }
        return longest;
    }

    /**
     * The requests. On a quick connection they need not name the server, since that connection leads to a known server.
     */
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
     * The first pass of questions that were not sent yet. If the node must not be asked now, the questions fail. Throws
     * if the node cannot be part of a quorum.
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

    /** Sends the questions. Returns the questions whose requests changed nothing and have to be sent again. */
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

    /**
     * Gives the polls their outcomes. Returns the questions whose requests changed nothing and have to be sent again.
     */
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
            // The server read its time between the sending and now. Assume the moment of the sending, but not more than
            // LATE_MARGIN_NANOS ago. If the estimate of the server's clock were too far ahead, a request could run
            // although this client relies on its end. If the estimate is behind, the server at worst refuses a request
            // as late, and the client sends it again.
            node.time.saw(reply, Math.max(sentNanos, System.nanoTime() - QuorumServer.LATE_MARGIN_NANOS));
        }
    }
}
