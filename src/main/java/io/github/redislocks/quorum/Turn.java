package io.github.redislocks.quorum;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one node is asked together, until each of its polls has been told what became of it.
 *
 * <pre>
 * quickly: sent by whoever takes the turn, who does not wait; the reader of all nodes hears the answers
 * slowly:  by a thread of the node, which may connect and wait: where there is no quick connection, or it broke; where
 *          the node does not answer, is met for the first time or is another one than before; and what came too late
 * </pre>
 */
final class Turn {

    private final QuorumNode node;
    private final List<Ask> asks;
    private final boolean background;
    /** Those that have been told nothing; null before it is known which these are. */
    private @Nullable List<OpenQuestion> open;

    private long sentNanos;
    private long deadlineNanos;

    /** Of these, to which more may be added until it begins. */
    Turn(QuorumNode node, List<Ask> asks, boolean background) {
        this.node = node;
        this.asks = asks;
        this.background = background;
    }

    /** Finds out which of them are to be asked still; whether there are any. */
    boolean isWanted() {
        try {
            open = inTime(System.nanoTime());
            return !open.isEmpty();
        } catch (Throwable e) {
            failed(e);
            return false;
        }
    }

    /** Those of which an answer is still wanted; the others are told. */
    private List<OpenQuestion> inTime(long now) {
        List<OpenQuestion> wanted = new ArrayList<>(asks.size());
        for (Ask ask : asks) {
            // What was on its way when it was asked may have been answered meanwhile.
            List<Poll> concerned = node.concerned(ask.polls);
            long deadline = ask.untilNanos(now);
            for (Poll poll : concerned) {
                if (deadline - now > 0) {
                    wanted.add(new OpenQuestion(poll, ask, deadline, false));
                } else {
                    tell(poll, ask, QuorumNode.unsent(node.redis.address() + ": there was no time left to ask"));
                }
            }
        }
        return wanted;
    }

    /** Sends them and returns at once; false if that cannot be. What is heard of them is told. */
    boolean beginQuickly(QuickAnswers answers) {
        List<OpenQuestion> questions = wanted();
        if (!node.health.isSound() || !node.server.isTrusted()) {
            return false;
        }
        String server = node.server.runId();
        List<Call> requests = requests(questions, true);
        return node.redis.begin(server, requests, Math.max(1, deadlineNanos - sentNanos), answers::heard);
    }

    /** Told what became of calls that were begun. */
    @FunctionalInterface
    interface QuickAnswers {
        void heard(@Nullable List<Outcome> outcomes);
    }

    /** Tells them their answers, if none of these wants anything else to be done; whether it did. */
    boolean endQuickly(@Nullable List<Outcome> outcomes) {
        if (outcomes == null || !node.health.isSound()) {
            // That it is back may have to be logged.
            return false;
        }
        for (int i = 0; i < outcomes.size(); i++) {
            Outcome outcome = outcomes.get(i);
            if (outcome.reply() == null || VoteAnswer.of(outcome).wantsAnother()) {
                return false;
            }
        }
        node.health.answered();
        for (int i = 0; i < outcomes.size(); i++) {
            learn(outcomes.get(i));
        }
        List<OpenQuestion> questions = wanted();
        for (int i = 0; i < outcomes.size(); i++) {
            tell(questions.get(i), outcomes.get(i));
        }
        return true;
    }

    /** Asks them, and waits: from now on, however long this thread took to come. */
    void askSlowly() {
        long now = System.nanoTime();
        List<OpenQuestion> wanted = new ArrayList<>(wanted().size());
        for (OpenQuestion question : wanted()) {
            long until = question.ask().untilNanos(now);
            if (until - now > 0) {
                wanted.add(new OpenQuestion(question.poll(), question.ask(), until, question.resent()));
            } else {
                tell(question, QuorumNode.unsent(node.redis.address() + ": there was no time left to ask"));
            }
        }
        open = wanted;
        if (!wanted.isEmpty()) {
            slowly(this::checkedPass);
        }
    }

    /** Does what is left to be done after they were begun: asks again, meets another server, tells of a failure. */
    void endSlowly(@Nullable List<Outcome> outcomes) {
        if (outcomes == null) {
            open = wanted().stream().map(OpenQuestion::again).toList();
            slowly(this::checkedPass);
        } else {
            slowly(() -> settled(outcomes));
        }
    }

    /** Returns those that are to be sent again. */
    @FunctionalInterface
    private interface Pass {
        List<OpenQuestion> late();
    }

    private void slowly(Pass first) {
        long began = System.nanoTime();
        long timeout = Math.max(1, OpenQuestion.latest(wanted()) - began);
        try {
            open = first.late();
            if (!wanted().isEmpty() && OpenQuestion.latest(wanted()) - System.nanoTime() > 0) {
                // Late answers told the time, by which the next ones are not late; another server is looked at now.
                node.server.checkOnce(Math.max(1, OpenQuestion.latest(wanted()) - System.nanoTime()));
                open = pass();
            }
            tell(wanted(), Outcome.of(new Reply("LATE", List.of())));
        } catch (RedisException e) {
            // An objection stands for a while without a further question to the server.
            boolean asked = node.server.objection() == null;
            Throwable met = asked ? node.health.noteSafely(e, timeout) : null;
            if (!asked) {
                node.health.unknown();
            }
            tellAll(Outcome.of(node.health.named(e)));
            if (met != null) {
                node.report("A failure was not noted", met);
            }
        } catch (Throwable e) {
            failed(e);
        }
    }

    /** Of an error, after which it is not known whether they were sent. */
    void failed(Throwable e) {
        node.health.unknown();
        tellAll(Outcome.of(new RedisException.Unanswered(node.redis.address() + ": " + e, true, e)));
        node.report("A call failed", e);
    }

    /** Tells those that are open, or all if that is not known. */
    void tellAll(Outcome outcome) {
        List<OpenQuestion> questions = open;
        if (questions != null) {
            tell(questions, outcome);
            return;
        }
        for (Ask ask : asks) {
            for (Poll poll : ask.polls) {
                tell(poll, ask, outcome);
            }
        }
    }

    private List<OpenQuestion> wanted() {
        List<OpenQuestion> questions = open;
        return questions == null ? List.of() : questions;
    }

    /** Quickly: on a connection that leads to the server that is trusted. */
    private List<Call> requests(List<OpenQuestion> questions, boolean quickly) {
        sentNanos = System.nanoTime();
        deadlineNanos = OpenQuestion.latest(questions);
        String named = quickly ? "" : node.server.runId();
        List<Call> requests = new ArrayList<>(questions.size());
        for (OpenQuestion question : questions) {
            question.poll().sending(node);
            long timeout = Math.max(1, question.deadlineNanos() - sentNanos);
            requests.add(question.poll().call(node, named, sentNanos, timeout));
        }
        return requests;
    }

    /** The first pass of what has not been sent: only if the node is to be asked, and can be one of a quorum. */
    private List<OpenQuestion> checkedPass() {
        long now = System.nanoTime();
        long left = Math.max(1, OpenQuestion.latest(wanted()) - now);
        if (!node.health.enter(now, left)) {
            tell(wanted(), QuorumNode.unsent(node.health.why()));
            return List.of();
        }
        node.server.checkOnce(left);
        return pass();
    }

    /**
     * Sends these, and returns those that are to be sent again, now that more is known of the node.server. If it
     * throws, none of them has been told anything.
     */
    private List<OpenQuestion> pass() {
        List<Call> requests = requests(wanted(), false);
        long timeout = Math.max(1, deadlineNanos - sentNanos);
        return settled(
                background || requests.size() > 1
                        ? node.redis.runAll(requests, timeout)
                        : List.of(run(requests.get(0), timeout)));
    }

    private Outcome run(Call call, long timeoutNanos) {
        try {
            return Outcome.of(node.redis.run(call, timeoutNanos));
        } catch (RedisException e) {
            return Outcome.of(e);
        }
    }

    /** Tells the answers, and returns those that are to be asked once more. */
    private List<OpenQuestion> settled(List<Outcome> outcomes) {
        List<OpenQuestion> questions = wanted();
        node.health.note(outcomes, Math.max(1, deadlineNanos - sentNanos));
        outcomes.forEach(this::learn);
        List<OpenQuestion> again = new ArrayList<>();
        for (int i = 0; i < questions.size(); i++) {
            Outcome outcome = outcomes.get(i);
            RedisException failure = outcome.failure();
            if (VoteAnswer.of(outcome).wantsAnother()) {
                again.add(questions.get(i).late(outcome));
            } else {
                tell(questions.get(i), failure == null ? outcome : Outcome.of(node.health.named(failure)));
            }
        }
        return again;
    }

    /** Draws from an answer what it tells of the node.server. */
    private void learn(Outcome outcome) {
        Reply reply = outcome.reply();
        if (outcome.failure() instanceof RedisException.Refused refused && refused.says("READONLY")) {
            node.server.becameReplica();
            return;
        }
        VoteAnswer answer = VoteAnswer.of(outcome);
        if (answer == VoteAnswer.Word.OTHER) {
            node.server.doubt();
        } else if (reply != null && answer.tellsTime()) {
            node.server.answered(reply.now());
            // Counted from the sending it may be ahead by a round trip, and by a slow one more than the margin. Then
            // rather behind: a request that is late by mistake is sent again.
            node.time.saw(reply, Math.max(sentNanos, System.nanoTime() - QuorumServer.LATE_MARGIN_NANOS));
        }
    }

    private void tell(List<OpenQuestion> questions, Outcome outcome) {
        for (OpenQuestion question : questions) {
            tell(question, outcome);
        }
    }

    private void tell(OpenQuestion question, Outcome outcome) {
        tell(question.poll(), question.ask(), question.told(outcome));
    }

    /** Whatever it makes of it, the others are to be told of theirs. */
    private void tell(Poll poll, Ask ask, Outcome outcome) {
        try {
            try {
                poll.asked(node, ask.mayRunUntilNanos(), outcome);
            } finally {
                poll.heard(node, outcome);
            }
        } catch (Throwable e) {
            node.report("An answer was not understood", e);
        }
    }
}
