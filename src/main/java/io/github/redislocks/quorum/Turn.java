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
    private final boolean background;
    /** The questions whose polls have heard nothing yet. */
    private List<OpenQuestion> open;

    private long sentNanos;
    /** How long the last of them was waited for when they were sent. */
    private long timeoutNanos;

    /** Of these, to which more may be added until it begins. */
    Turn(QuorumNode node, List<OpenQuestion> asked, boolean background) {
        this.node = node;
        this.open = asked;
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
        List<OpenQuestion> wanted = new ArrayList<>(open.size());
        for (OpenQuestion question : open) {
            if (!question.poll.concerns(node)) {
                // A vote that was on its way when this was asked has been answered meanwhile.
                question.poll.heard(node, Poll.UNASKED);
            } else if (question.begin(now)) {
                wanted.add(question);
            } else {
                tell(question, QuorumNode.unsent(node.redis.address() + ": there was no time left to ask"));
            }
        }
        return wanted;
    }

    /** Sends them and returns at once; false if that cannot be. What is heard of them is told. */
    boolean beginQuickly(Consumer<@Nullable List<Outcome>> heard) {
        if (!node.health.isSound() || !node.server.isTrusted()) {
            return false;
        }
        String server = node.server.runId();
        List<Call> requests = requests(true);
        return node.redis.begin(server, requests, timeoutNanos, heard);
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
        for (int i = 0; i < outcomes.size(); i++) {
            tell(open.get(i), outcomes.get(i));
        }
        return true;
    }

    /** Asks them, and waits: from now on, however long this thread took to come. */
    void askSlowly() {
        if (isWanted()) {
            slowly(this::checkedPass);
        }
    }

    /** Does what is left to be done after they were begun: asks again, meets another server, tells of a failure. */
    void endSlowly(@Nullable List<Outcome> outcomes) {
        if (outcomes == null) {
            open.forEach(OpenQuestion::mayHaveRun);
            slowly(this::checkedPass);
        } else {
            slowly(() -> settled(outcomes));
        }
    }

    /** Runs a first pass, which returns those that are to be sent again, and then a second. */
    private void slowly(Supplier<List<OpenQuestion>> first) {
        long timeout = leftNanos(System.nanoTime());
        try {
            open = first.get();
            long left = leftNanos(System.nanoTime());
            if (!open.isEmpty() && left > 1) {
                // Late answers told the time, by which the next ones are not late; another server is looked at now.
                node.server.checkOnce(left);
                open = pass();
            }
            tellAll(Outcome.of(new Reply("LATE", List.of())));
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

    /** Tells those that are open. */
    void tellAll(Outcome outcome) {
        for (OpenQuestion question : open) {
            tell(question, outcome);
        }
    }

    /** How long the last of those that are open is waited for; a nanosecond at least. */
    private long leftNanos(long now) {
        long longest = 1;
        for (OpenQuestion question : open) {
            longest = Math.max(longest, question.leftNanos(now));
        }
        return longest;
    }

    /** Quickly: on a connection that leads to the server that is meant. */
    private List<Call> requests(boolean quickly) {
        sentNanos = System.nanoTime();
        timeoutNanos = leftNanos(sentNanos);
        String named = quickly ? "" : node.server.runId();
        List<Call> requests = new ArrayList<>(open.size());
        for (OpenQuestion question : open) {
            question.poll.sending(node);
            requests.add(question.poll.call(node, named, sentNanos, question.leftNanos(sentNanos)));
        }
        return requests;
    }

    /** The first pass of what has not been sent: only if the node is to be asked, and can be one of a quorum. */
    private List<OpenQuestion> checkedPass() {
        long now = System.nanoTime();
        long left = leftNanos(now);
        if (!node.health.enter(now, left)) {
            tellAll(QuorumNode.unsent(node.health.why()));
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

    /** Tells the answers, and returns those that are to be asked once more. */
    private List<OpenQuestion> settled(List<Outcome> outcomes) {
        node.health.note(outcomes, timeoutNanos);
        outcomes.forEach(this::learn);
        List<OpenQuestion> again = new ArrayList<>();
        for (int i = 0; i < outcomes.size(); i++) {
            OpenQuestion question = open.get(i);
            Outcome outcome = outcomes.get(i);
            Reply reply = outcome.reply();
            RedisException failure = outcome.failure();
            if (!VoteAnswer.of(outcome).wantsAnother()) {
                tell(question, failure == null ? outcome : Outcome.of(node.health.named(failure)));
            } else {
                if (reply != null && reply.resent()) {
                    question.mayHaveRun();
                }
                again.add(question);
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

    /** An error of one poll keeps no other from its answer. */
    private void tell(OpenQuestion question, Outcome outcome) {
        try {
            Outcome told = question.told(outcome);
            try {
                question.poll.asked(node, question.mayRunUntilNanos(), told);
            } finally {
                question.poll.heard(node, told);
            }
        } catch (Throwable e) {
            node.report("An answer was not understood", e);
        }
    }
}
