package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.ScalingExecutor;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.Outage;
import io.github.redislocks.health.OutageNews;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTime;
import io.github.redislocks.state.Settings;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One master of a quorum. It has threads of its own, since all are asked at the same time and none may wait for
 * another: one for calls, and one for what is done in the background. What comes while a call is under way is asked
 * together, when that has ended, in the order in which it came: so a vote that somebody does not wait for any longer is
 * answered before it is withdrawn. What was asked too long ago is not sent.
 */
public final class QuorumNode {

    private static final Outcome NOTHING = Outcome.of(new Reply("GONE", List.of()));
    private static final long IDLE_SECONDS = 5;
    private static final long BACKGROUND_IDLE_SECONDS = 1;
    /** How many threads ask it, each on a connection of its own. */
    public static final int THREADS = 2;

    /** How many calls are asked together at most. */
    private static final int MOST_TOGETHER = 64;

    public final int index;
    public final QuorumServer server;
    public final Redis redis;
    public final ServerTime time;
    public final Threads threads;
    public final UnansweredVotes unanswered = new UnansweredVotes();

    /** What is to be asked next by {@link #calls}, which has a task for each; so its bound is theirs. */
    private final Queue<Ask> waiting = new ConcurrentLinkedQueue<>();

    public final ThreadPoolExecutor calls;
    public final ThreadPoolExecutor lane;
    private final CircuitBreaker reachability = new CircuitBreaker();
    private final OutageNews news;
    private final Outage silence = new Outage(Long.MAX_VALUE);
    private volatile boolean closing;
    private final long awayNanos;
    private final WithdrawRetries retries;

    public QuorumNode(
            int index, QuorumServer server, Settings settings, QuorumCalls quorum, RetryTimer timer, Threads threads) {
        this.threads = threads;
        this.index = index;
        this.server = server;
        this.redis = server.redis;
        this.time = server.time;
        this.news =
                new OutageNews("A master of the quorum", redis::address, () -> closing, new EventNotifier(List.of()));
        this.awayNanos = settings.commandTimeoutNanos() / 2;
        this.retries = new WithdrawRetries(this, quorum, timer);
        this.calls = new ScalingExecutor(1, IDLE_SECONDS, threads.factory("node-" + redis.address()));
        this.lane = new ScalingExecutor(1, BACKGROUND_IDLE_SECONDS, threads.factory("lane-" + redis.address()));
    }

    /** Puts these questions to the node and returns at once; each poll hears what became of its own. */
    public void ask(List<? extends Poll> polls, long deadlineNanos, boolean background) {
        long mayRunUntil = deadlineNanos + QuorumServer.LATE_MARGIN_NANOS;
        retries.resume();
        List<Poll> concerned = concerned(polls);
        if (concerned.isEmpty()) {
            return;
        }
        // From now on, not only when it is sent: another client's withdrawal may overtake it on the way there.
        concerned.forEach(poll -> poll.asking(this, mayRunUntil));
        Ask ask = new Ask(concerned, deadlineNanos);
        boolean queued = false;
        Outcome failure;
        try {
            if (background) {
                lane.execute(() -> answer(List.of(ask), true));
            } else {
                queued = waiting.add(ask);
                calls.execute(this::answerWaiting);
            }
            return;
        } catch (RejectedExecutionException e) {
            failure = unsent(redis.address() + ": " + e.getMessage());
        } catch (Throwable e) {
            // No thread could be started: this node is one less, and the others have been asked or will be.
            failure = unsent(redis.address() + ": " + e);
        }
        // Unless the task of another has taken it.
        if (!queued || waiting.remove(ask)) {
            tell(ask, failure);
        }
    }

    /** Questions that came together. Two are never equal. */
    private static final class Ask {

        private final List<Poll> polls;
        private final long deadlineNanos;

        Ask(List<Poll> polls, long deadlineNanos) {
            this.polls = polls;
            this.deadlineNanos = deadlineNanos;
        }

        /** From when on none of their requests can run any more. */
        long mayRunUntilNanos() {
            return deadlineNanos + QuorumServer.LATE_MARGIN_NANOS;
        }

        /** By when they have to be answered that are asked from now on. */
        long untilNanos(long now) {
            long until = deadlineNanos;
            for (Poll poll : polls) {
                until = poll.patienceNanos() == Long.MAX_VALUE ? until : Math.min(until, now + poll.patienceNanos());
            }
            return until;
        }
    }

    /**
     * One of them, on its way: it is told what became of it.
     *
     * @param resent whether an earlier copy than the one that was late may have run
     */
    private record Question(Poll poll, Ask ask, long deadlineNanos, boolean resent) {

        Question late(Outcome outcome) {
            Reply reply = outcome.reply();
            return reply != null && reply.resent() ? new Question(poll, ask, deadlineNanos, true) : this;
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

    /** Those that it has to be asked; the others hear that it has nothing. */
    private List<Poll> concerned(List<? extends Poll> polls) {
        List<Poll> concerned = new ArrayList<>(polls.size());
        for (Poll poll : polls) {
            if (poll.concerns(this)) {
                concerned.add(poll);
            } else {
                poll.heard(this, NOTHING);
            }
        }
        return concerned;
    }

    /** Asks once more from a time on. */
    public void again(WithdrawPoll.Order order, long notBeforeNanos) {
        retries.add(order, notBeforeNanos);
    }

    /** Of how many attempts it remembers something. */
    public int remembered() {
        return unanswered.size() + retries.size();
    }

    /** Asks what waits, together; nothing if the task of another has done so. */
    private void answerWaiting() {
        // Allocated before anything is taken, so that nothing can be lost.
        List<Ask> taken = new ArrayList<>(MOST_TOGETHER);
        Ask next = waiting.peek();
        while (next != null && taken.size() < MOST_TOGETHER && !isForLater(next, taken)) {
            if (waiting.remove(next)) {
                taken.add(next);
            }
            next = waiting.peek();
        }
        if (!taken.isEmpty()) {
            answer(taken, false);
        }
    }

    /** Whether one of them depends on what others are answered first. */
    private static boolean isForLater(Ask ask, List<Ask> others) {
        for (int i = 0; i < others.size(); i++) {
            if (follows(ask.polls, others.get(i).polls)) {
                return true;
            }
        }
        return false;
    }

    /** Without iterators, which need memory: what has been taken must not be lost for want of it. */
    private static boolean follows(List<Poll> polls, List<Poll> others) {
        for (int i = 0; i < polls.size(); i++) {
            for (int j = 0; j < others.size(); j++) {
                if (polls.get(i).follows(others.get(j))) {
                    return true;
                }
            }
        }
        return false;
    }

    private void answer(List<Ask> asks, boolean background) {
        long began = System.nanoTime();
        long timeout = 0;
        // Those that have been told nothing; null before it is known which these are.
        List<Question> open = null;
        try {
            open = inTime(asks, began);
            if (open.isEmpty()) {
                return;
            }
            timeout = latest(open) - began;
            if (!reachability.enter(began)) {
                tell(open, unsent(reachability.why()));
                return;
            }
            server.checkOnce(timeout);
            open = pass(open, background);
            if (!open.isEmpty() && latest(open) - System.nanoTime() > 0) {
                // They told the time, by which the next ones are not late; or another server has been met.
                server.checkOnce(Math.max(1, latest(open) - System.nanoTime()));
                open = pass(open, background);
            }
            tell(open, Outcome.of(new Reply("LATE", List.of())));
        } catch (RedisException e) {
            Throwable met = noteSafely(e, timeout);
            tell(asks, open, Outcome.of(named(e)));
            if (met != null) {
                report("A failure was not noted", met);
            }
        } catch (Throwable e) {
            reachability.unknown();
            // It is not known whether they were sent.
            tell(asks, open, Outcome.of(new RedisException.Unanswered(redis.address() + ": " + e, true, e)));
            report("A call failed", e);
        }
    }

    /** Those of which an answer is still wanted; the others are told. */
    private List<Question> inTime(List<Ask> asks, long now) {
        List<Question> open = new ArrayList<>();
        for (Ask ask : asks) {
            // What was on its way when it was asked may have been answered meanwhile.
            List<Poll> concerned = concerned(ask.polls);
            long deadline = ask.untilNanos(now);
            for (Poll poll : concerned) {
                if (deadline - now > 0) {
                    open.add(new Question(poll, ask, deadline, false));
                } else {
                    tell(poll, ask.mayRunUntilNanos(), unsent(redis.address() + ": too many calls wait"));
                }
            }
        }
        return open;
    }

    private static long latest(List<Question> questions) {
        long latest = questions.get(0).deadlineNanos;
        for (Question question : questions) {
            latest = question.deadlineNanos - latest > 0 ? question.deadlineNanos : latest;
        }
        return latest;
    }

    /**
     * Sends these, and returns those that are to be sent again, now that more is known of the server. If it throws,
     * none of them has been told anything.
     */
    private List<Question> pass(List<Question> questions, boolean background) {
        long sent = System.nanoTime();
        long deadline = latest(questions);
        long timeout = Math.max(1, deadline - sent);
        List<Call> requests = new ArrayList<>(questions.size());
        for (Question question : questions) {
            question.poll.sending(this);
            requests.add(question.poll.call(this, sent, Math.max(1, question.deadlineNanos - sent)));
        }
        List<Outcome> outcomes = background || requests.size() > 1
                ? redis.runAll(requests, timeout)
                : List.of(run(requests.get(0), timeout));
        note(outcomes, timeout);
        outcomes.forEach(outcome -> learn(outcome, sent));
        Outcome ofOther = meet(outcomes, deadline);
        List<Question> late = new ArrayList<>();
        for (int i = 0; i < questions.size(); i++) {
            Outcome outcome = outcomes.get(i);
            VoteAnswer answer = VoteAnswer.of(outcome);
            RedisException failure = outcome.failure();
            if (answer instanceof VoteAnswer.Other && ofOther != null) {
                tell(questions.get(i), ofOther);
            } else if (answer == VoteAnswer.Word.LATE || answer instanceof VoteAnswer.Other) {
                late.add(questions.get(i).late(outcome));
            } else {
                tell(questions.get(i), failure == null ? outcome : Outcome.of(named(failure)));
            }
        }
        return late;
    }

    /** Draws from an answer what it tells of the server. */
    private void learn(Outcome outcome, long sent) {
        Reply reply = outcome.reply();
        if (outcome.failure() instanceof RedisException.Refused refused && refused.says("READONLY")) {
            server.becameReplica();
        } else if (reply != null && VoteAnswer.of(reply).tellsTime()) {
            // Counted from the sending it may be ahead by a round trip, and by a slow one more than the margin. Then
            // rather behind: a request that is late by mistake is sent again.
            time.saw(reply, Math.max(sent, System.nanoTime() - QuorumServer.LATE_MARGIN_NANOS));
        }
    }

    /** Meets the server if it is another one. Returns what polls without its vote hear; null: ask again. */
    private @Nullable Outcome meet(List<Outcome> outcomes, long deadline) {
        for (Outcome outcome : outcomes) {
            if (VoteAnswer.of(outcome) instanceof VoteAnswer.Other other) {
                long left = Math.max(1, deadline - System.nanoTime());
                try {
                    long wait = server.meet(other.runId(), left);
                    return wait > 0 ? Outcome.of(new Reply("YOUNG", List.of(wait))) : null;
                } catch (RedisException e) {
                    note(List.of(Outcome.of(e)), left);
                    return Outcome.of(named(e));
                }
            }
        }
        return null;
    }

    /** Draws from what became of some calls whether the node is there. */
    private void note(List<Outcome> outcomes, long timeoutNanos) {
        boolean answered =
                outcomes.stream().anyMatch(outcome -> !(outcome.failure() instanceof RedisException.Unanswered));
        if (answered) {
            answered();
        } else if (timeoutNanos < QuorumCalls.MIN_PATIENCE_NANOS / 2) {
            reachability.unknown();
        } else {
            RedisException last = named(Objects.requireNonNull(outcomes.get(0).failure()));
            long now = System.nanoTime();
            reachability.failed(now, String.valueOf(last.getMessage()));
            // A call that had little time says little.
            if (isCut(outcomes.get(0).failure()) || timeoutNanos >= awayNanos) {
                silence.failed(now - timeoutNanos, now);
                news.away(last, now - silence.age(now), now);
            }
        }
    }

    /** The same of one that failed. Whatever it meets, which it returns, the node can be tried again. */
    private @Nullable Throwable noteSafely(RedisException failure, long timeoutNanos) {
        try {
            note(List.of(Outcome.of(failure)), timeoutNanos);
            return null;
        } catch (Throwable e) {
            reachability.unknown();
            return e;
        }
    }

    private static boolean isCut(@Nullable RedisException failure) {
        return failure instanceof RedisException.Unanswered unanswered && unanswered.isCut();
    }

    private void answered() {
        silence.end();
        reachability.answered();
        news.heard(System.nanoTime());
    }

    private Outcome run(Call call, long timeoutNanos) {
        try {
            return Outcome.of(redis.run(call, timeoutNanos));
        } catch (RedisException e) {
            return Outcome.of(e);
        }
    }

    /** Those that are open, or all if that is not known. */
    private void tell(List<Ask> asks, @Nullable List<Question> open, Outcome outcome) {
        if (open == null) {
            for (Ask ask : asks) {
                tell(ask, outcome);
            }
        } else {
            tell(open, outcome);
        }
    }

    private void tell(Ask ask, Outcome outcome) {
        for (Poll poll : ask.polls) {
            tell(poll, ask.mayRunUntilNanos(), outcome);
        }
    }

    private void tell(List<Question> questions, Outcome outcome) {
        for (Question question : questions) {
            tell(question, outcome);
        }
    }

    private void tell(Question question, Outcome outcome) {
        tell(question.poll, question.ask.mayRunUntilNanos(), question.told(outcome));
    }

    /** Whatever it makes of it, the others are to be told of theirs. */
    private void tell(Poll poll, long mayRunUntilNanos, Outcome outcome) {
        try {
            try {
                poll.asked(this, mayRunUntilNanos, outcome);
            } finally {
                poll.heard(this, outcome);
            }
        } catch (Throwable e) {
            report("An answer was not understood", e);
        }
    }

    private void report(String what, Throwable e) {
        Loggers.INTERNAL.error("{} at {}", what, redis.address(), e);
    }

    private static Outcome unsent(String message) {
        return Outcome.of(new RedisException.Unanswered(message, false, null));
    }

    /** The failure with the node's name, since there are several. */
    private RedisException named(RedisException failure) {
        String text = String.valueOf(failure.getMessage());
        if (failure instanceof RedisException.Unanswered unanswered) {
            boolean says = text.contains(redis.address());
            String full = says ? text : redis.address() + ": " + text;
            return unanswered.busy()
                    ? RedisException.Unanswered.busy(full, failure)
                    : new RedisException.Unanswered(full, unanswered.sent(), failure);
        }
        return failure;
    }

    /** The subscription that should receive what is published to a channel. */
    public interface Listener {

        /** How much it has heard. */
        long heard();

        /** Told that a message was published after it had heard so much. */
        void published(long heardBefore);
    }

    /** Sends a message and does not wait for it. */
    public void publish(String channel, String message, long timeoutNanos, @Nullable Listener listener) {
        long deadline = System.nanoTime() + timeoutNanos;
        try {
            lane.execute(() -> {
                long now = System.nanoTime();
                if (deadline - now <= 0 || !reachability.enter(now)) {
                    return;
                }
                try {
                    long heard = listener == null ? 0 : listener.heard();
                    redis.publish(channel, message, deadline - now);
                    answered();
                    if (listener != null) {
                        listener.published(heard);
                    }
                } catch (RedisException e) {
                    Throwable met = noteSafely(e, deadline - now);
                    if (met != null) {
                        report("A failure was not noted", met);
                    }
                } catch (Throwable e) {
                    reachability.unknown();
                    report("A message was not sent", e);
                }
            });
        } catch (Throwable e) {
            // Closed, or no thread could be started: nobody waits for it, and others may bring it.
        }
    }

    /** Takes no more work. */
    public void shutDown() {
        closing = true;
        calls.shutdown();
        lane.shutdown();
    }

    /** Ends when what it was told before is done, at most at a time. */
    public void close(long deadlineNanos) {
        try {
            for (ThreadPoolExecutor each : List.of(calls, lane)) {
                boolean unused = each.awaitTermination(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            redis.close();
        }
    }
}
