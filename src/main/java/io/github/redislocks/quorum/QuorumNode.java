package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.Bell;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.ScalingExecutor;
import io.github.redislocks.concurrent.Threads;
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
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One master of a quorum. All are asked at the same time, and none may wait for another: what is asked is sent by the
 * thread that asks, if that needs no waiting, and else by a thread of the node; another one does what is done in the
 * background. What comes while a call is under way is asked together, when that has ended, in the order in which it
 * came: so a vote that somebody does not wait for any longer is answered before it is withdrawn. What was asked too
 * long ago is not sent.
 */
public final class QuorumNode {

    private static final Outcome NOTHING = Outcome.of(new Reply("GONE", List.of()));
    private static final long IDLE_SECONDS = 5;
    private static final long BACKGROUND_IDLE_SECONDS = 1;
    /** How many threads ask it, each on a connection of its own. */
    public static final int THREADS = 2;

    /** How many calls are asked together at most. */
    private static final int MOST_TOGETHER = 64;

    /** How many may wait. */
    private static final int MOST_WAITING = 10_000;

    /** From so many turns in a second on, a connection is made on which callers send themselves. */
    private static final int OFTEN = 4;

    private static final long SECOND_NANOS = 1_000_000_000;

    public final int index;
    public final QuorumServer server;
    public final Redis redis;
    public final ServerTime time;
    public final Threads threads;
    public final UnansweredVotes unanswered = new UnansweredVotes();
    final NodeHealth health;

    /** What is to be asked next, by whoever has the {@link #turn}. */
    private final Queue<Ask> waiting = new ConcurrentLinkedQueue<>();

    private final AtomicInteger waitingCount = new AtomicInteger();
    /** Taken while calls are under way. */
    private final AtomicBoolean turn = new AtomicBoolean();

    private final Bell turnsEnd = new Bell();
    public final ThreadPoolExecutor calls;
    public final ThreadPoolExecutor lane;
    private volatile boolean closing;
    private final WithdrawRetries retries;
    /** When turns were last begun to be counted, and how many there were: of the thread that asks slowly. */
    private long countedNanos;

    private int counted;

    public QuorumNode(
            int index, QuorumServer server, Settings settings, QuorumCalls quorum, RetryTimer timer, Threads threads) {
        this.threads = threads;
        this.index = index;
        this.server = server;
        this.redis = server.redis;
        this.time = server.time;
        this.health = new NodeHealth(redis::address, settings.commandTimeoutNanos() / 2, () -> closing);
        this.retries = new WithdrawRetries(this, quorum, timer);
        this.calls = new ScalingExecutor(1, IDLE_SECONDS, threads.factory("node-" + redis.address()));
        this.lane = new ScalingExecutor(1, BACKGROUND_IDLE_SECONDS, threads.factory("lane-" + redis.address()));
    }

    /** Puts these questions to the node and returns at once; each poll hears what became of its own. */
    public void ask(List<? extends Poll> polls, long deadlineNanos, boolean background) {
        retries.resume();
        List<Poll> concerned = concerned(polls);
        if (concerned.isEmpty()) {
            return;
        }
        Ask ask = new Ask(concerned, deadlineNanos);
        long mayRunUntil = ask.mayRunUntilNanos();
        // From now on, not only when it is sent: another client's withdrawal may overtake it on the way there.
        for (int i = 0; i < concerned.size(); i++) {
            concerned.get(i).asking(this, mayRunUntil);
        }
        boolean queued = false;
        Outcome failure;
        try {
            if (background) {
                Turn own = new Turn(List.of(ask), true);
                lane.execute(() -> {
                    if (own.isWanted()) {
                        own.askSlowly();
                    }
                });
                return;
            }
            String refusal = enqueue(ask);
            queued = refusal == null;
            if (queued) {
                advance();
                return;
            }
            failure = unsent(redis.address() + ": " + refusal);
        } catch (RejectedExecutionException e) {
            failure = unsent(redis.address() + ": " + e.getMessage());
        } catch (Throwable e) {
            if (queued && !dequeue(ask)) {
                // It was taken by somebody who tells what becomes of it.
                return;
            }
            // No thread could be started: this node is one less, and the others have been asked or will be.
            failure = unsent(redis.address() + ": " + e);
        }
        new Turn(List.of(ask), background).tellAll(failure);
    }

    /** Why it may not wait, or null. */
    private @Nullable String enqueue(Ask ask) {
        if (closing) {
            return "closed";
        }
        if (waitingCount.get() >= MOST_WAITING) {
            return "too many calls wait";
        }
        waitingCount.incrementAndGet();
        boolean added = false;
        try {
            waiting.add(ask);
            added = true;
            return null;
        } finally {
            if (!added) {
                waitingCount.decrementAndGet();
            }
        }
    }

    private boolean dequeue(Ask ask) {
        boolean removed = waiting.remove(ask);
        if (removed) {
            waitingCount.decrementAndGet();
        }
        return removed;
    }

    /** Those that it has to be asked; the others hear that it has nothing. */
    List<Poll> concerned(List<? extends Poll> polls) {
        List<Poll> concerned = new ArrayList<>(polls.size());
        for (int i = 0; i < polls.size(); i++) {
            Poll poll = polls.get(i);
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

    /** Asks what waits, unless something is under way: then that goes on with it. */
    private void advance() {
        while (!waiting.isEmpty() && turn.compareAndSet(false, true)) {
            boolean passedOn = false;
            try {
                passedOn = takeTurn();
            } finally {
                if (!passedOn) {
                    leaveTurn();
                }
            }
        }
    }

    private void leaveTurn() {
        turn.set(false);
        turnsEnd.ring();
    }

    /** Ends a turn, and begins the next. */
    private void endTurn() {
        leaveTurn();
        try {
            advance();
        } catch (Throwable e) {
            report("What waits was not asked", e);
        }
    }

    /** Begins a turn; whether it goes on, and will end by {@link #endTurn}. */
    private boolean takeTurn() {
        // Allocated before anything is taken, so that nothing can be lost.
        List<Ask> taken = new ArrayList<>(MOST_TOGETHER);
        Turn mine = new Turn(taken, false);
        Ask next = waiting.peek();
        while (next != null && taken.size() < MOST_TOGETHER && !next.isAfterAnyOf(taken)) {
            if (dequeue(next)) {
                taken.add(next);
            }
            next = waiting.peek();
        }
        if (taken.isEmpty() || !mine.isWanted()) {
            return false;
        }
        try {
            if (mine.beginQuickly(outcomes -> heard(mine, outcomes))) {
                return true;
            }
            calls.execute(() -> slowly(mine, mine::askSlowly));
            return true;
        } catch (RejectedExecutionException e) {
            mine.tellAll(unsent(redis.address() + ": " + e.getMessage()));
        } catch (Throwable e) {
            // No thread could be started, or there was no memory to send them.
            mine.tellAll(unsent(redis.address() + ": " + e));
        }
        return false;
    }

    /** By the reader of all nodes, for which all wait. */
    private void heard(Turn turn, @Nullable List<Outcome> outcomes) {
        boolean passedOn = false;
        try {
            if (!turn.endQuickly(outcomes)) {
                calls.execute(() -> slowly(turn, () -> turn.endSlowly(outcomes)));
                passedOn = true;
            }
        } catch (RejectedExecutionException e) {
            turn.tellAll(Outcome.of(new RedisException.Unanswered(redis.address() + ": " + e.getMessage(), true, e)));
        } catch (Throwable e) {
            turn.failed(e);
        } finally {
            if (!passedOn) {
                endTurn();
            }
        }
    }

    private void slowly(Turn turn, Runnable work) {
        boolean often = false;
        try {
            work.run();
            often = isOften();
        } catch (Throwable e) {
            turn.failed(e);
        } finally {
            endTurn();
        }
        if (often && health.isSound()) {
            try {
                redis.connectQuickly(SECOND_NANOS);
            } catch (Throwable e) {
                report("No quick connection was made", e);
            }
        }
    }

    /** Whether many turns are taken by this thread. */
    private boolean isOften() {
        long now = System.nanoTime();
        if (now - countedNanos > SECOND_NANOS) {
            countedNanos = now;
            counted = 0;
        }
        counted++;
        return counted == OFTEN;
    }

    void report(String what, Throwable e) {
        Loggers.INTERNAL.error("{} at {}", what, redis.address(), e);
    }

    static Outcome unsent(String message) {
        return Outcome.of(new RedisException.Unanswered(message, false, null));
    }

    /** Questions to one node that came together. Two are never equal. */
    private static final class Ask {

        final List<Poll> polls;
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
            for (int i = 0; i < polls.size(); i++) {
                long patience = polls.get(i).patienceNanos();
                if (patience != Long.MAX_VALUE && now + patience - until < 0) {
                    until = now + patience;
                }
            }
            return until;
        }

        /**
         * Whether one of them depends on what others are answered first. Without iterators, which need memory: what has
         * been taken must not be lost for want of it.
         */
        boolean isAfterAnyOf(List<Ask> others) {
            for (int i = 0; i < others.size(); i++) {
                if (follows(others.get(i).polls)) {
                    return true;
                }
            }
            return false;
        }

        private boolean follows(List<Poll> others) {
            for (int i = 0; i < polls.size(); i++) {
                for (int j = 0; j < others.size(); j++) {
                    if (polls.get(i).follows(others.get(j))) {
                        return true;
                    }
                }
            }
            return false;
        }
    }

    /**
     * One question to one node, on its way: its poll is told what became of it.
     *
     * @param deadlineNanos by when it has to be answered
     * @param resent whether an earlier copy than the one that is under way may have run
     */
    private record Question(Poll poll, Ask ask, long deadlineNanos, boolean resent) {

        static long latest(List<Question> questions) {
            long latest = questions.get(0).deadlineNanos;
            for (Question question : questions) {
                latest = question.deadlineNanos - latest > 0 ? question.deadlineNanos : latest;
            }
            return latest;
        }

        /** To be asked once more, since it was late. */
        Question late(Outcome outcome) {
            Reply reply = outcome.reply();
            return reply != null && reply.resent() ? again() : this;
        }

        /** To be asked once more, though it may have run. */
        Question again() {
            return new Question(poll, ask, deadlineNanos, true);
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

    /**
     * What one node is asked together, until each of its polls has been told what became of it.
     *
     * <pre>
     * quickly: sent by whoever takes the turn, who does not wait; the reader of all nodes hears the answers
     * slowly:  by a thread of the node, which may connect and wait: where there is no quick connection, or it broke; where
     *          the node does not answer, is met for the first time or is another one than before; and what came too late
     * </pre>
     */
    private final class Turn {

        private final List<Ask> asks;
        private final boolean background;
        /** Those that have been told nothing; null before it is known which these are. */
        private @Nullable List<Question> open;

        private long sentNanos;
        private long deadlineNanos;

        /** Of these, to which more may be added until it begins. */
        Turn(List<Ask> asks, boolean background) {
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
        private List<Question> inTime(long now) {
            List<Question> wanted = new ArrayList<>(asks.size());
            for (Ask ask : asks) {
                // What was on its way when it was asked may have been answered meanwhile.
                List<Poll> concerned = concerned(ask.polls);
                long deadline = ask.untilNanos(now);
                for (Poll poll : concerned) {
                    if (deadline - now > 0) {
                        wanted.add(new Question(poll, ask, deadline, false));
                    } else {
                        tell(poll, ask, unsent(redis.address() + ": too many calls wait"));
                    }
                }
            }
            return wanted;
        }

        /** Sends them and returns at once; false if that cannot be. What is heard of them is told. */
        boolean beginQuickly(QuickAnswers answers) {
            List<Question> questions = wanted();
            if (!health.isSound() || !server.isTrusted()) {
                return false;
            }
            List<Call> requests = requests(questions);
            return redis.begin(requests, Math.max(1, deadlineNanos - sentNanos), answers::heard);
        }

        /** Told what became of calls that were begun. */
        @FunctionalInterface
        interface QuickAnswers {
            void heard(@Nullable List<Outcome> outcomes);
        }

        /** Tells them their answers, if none of these wants anything else to be done; whether it did. */
        boolean endQuickly(@Nullable List<Outcome> outcomes) {
            if (outcomes == null || !health.isSound()) {
                // That it is back may have to be logged.
                return false;
            }
            for (int i = 0; i < outcomes.size(); i++) {
                VoteAnswer answer = VoteAnswer.of(outcomes.get(i));
                if (outcomes.get(i).reply() == null
                        || answer == VoteAnswer.Word.LATE
                        || answer instanceof VoteAnswer.Other) {
                    return false;
                }
            }
            health.answered();
            for (int i = 0; i < outcomes.size(); i++) {
                learn(outcomes.get(i));
            }
            List<Question> questions = wanted();
            for (int i = 0; i < outcomes.size(); i++) {
                tell(questions.get(i), outcomes.get(i));
            }
            return true;
        }

        /** Asks them, and waits: from now on, however long this thread took to come. */
        void askSlowly() {
            long now = System.nanoTime();
            List<Question> wanted = new ArrayList<>(wanted().size());
            for (Question question : wanted()) {
                long until = question.ask.untilNanos(now);
                if (until - now > 0) {
                    wanted.add(new Question(question.poll, question.ask, until, question.resent));
                } else {
                    tell(question, unsent(redis.address() + ": too many calls wait"));
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
                open = wanted().stream().map(Question::again).toList();
                slowly(this::checkedPass);
            } else {
                slowly(() -> settled(outcomes));
            }
        }

        /** Returns those that are to be sent again. */
        @FunctionalInterface
        private interface Pass {
            List<Question> late();
        }

        private void slowly(Pass first) {
            long began = System.nanoTime();
            long timeout = Math.max(1, Question.latest(wanted()) - began);
            try {
                open = first.late();
                if (!wanted().isEmpty() && Question.latest(wanted()) - System.nanoTime() > 0) {
                    // They told the time, by which the next ones are not late; or another server has been met.
                    server.checkOnce(Math.max(1, Question.latest(wanted()) - System.nanoTime()));
                    open = pass();
                }
                tell(wanted(), Outcome.of(new Reply("LATE", List.of())));
            } catch (RedisException e) {
                Throwable met = health.noteSafely(e, timeout);
                tellAll(Outcome.of(health.named(e)));
                if (met != null) {
                    report("A failure was not noted", met);
                }
            } catch (Throwable e) {
                failed(e);
            }
        }

        /** Of an error, after which it is not known whether they were sent. */
        void failed(Throwable e) {
            health.unknown();
            tellAll(Outcome.of(new RedisException.Unanswered(redis.address() + ": " + e, true, e)));
            report("A call failed", e);
        }

        /** Tells those that are open, or all if that is not known. */
        void tellAll(Outcome outcome) {
            List<Question> questions = open;
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

        private List<Question> wanted() {
            List<Question> questions = open;
            return questions == null ? List.of() : questions;
        }

        private List<Call> requests(List<Question> questions) {
            sentNanos = System.nanoTime();
            deadlineNanos = Question.latest(questions);
            List<Call> requests = new ArrayList<>(questions.size());
            for (Question question : questions) {
                question.poll().sending(QuorumNode.this);
                requests.add(question.poll()
                        .call(QuorumNode.this, sentNanos, Math.max(1, question.deadlineNanos() - sentNanos)));
            }
            return requests;
        }

        /** The first pass of what has not been sent: only if the node is to be asked, and can be one of a quorum. */
        private List<Question> checkedPass() {
            long now = System.nanoTime();
            if (!health.enter(now)) {
                tell(wanted(), unsent(health.why()));
                return List.of();
            }
            server.checkOnce(Math.max(1, Question.latest(wanted()) - now));
            return pass();
        }

        /**
         * Sends these, and returns those that are to be sent again, now that more is known of the server. If it throws,
         * none of them has been told anything.
         */
        private List<Question> pass() {
            List<Call> requests = requests(wanted());
            long timeout = Math.max(1, deadlineNanos - sentNanos);
            return settled(
                    background || requests.size() > 1
                            ? redis.runAll(requests, timeout)
                            : List.of(run(requests.get(0), timeout)));
        }

        private Outcome run(Call call, long timeoutNanos) {
            try {
                return Outcome.of(redis.run(call, timeoutNanos));
            } catch (RedisException e) {
                return Outcome.of(e);
            }
        }

        private List<Question> settled(List<Outcome> outcomes) {
            List<Question> questions = wanted();
            health.note(outcomes, Math.max(1, deadlineNanos - sentNanos));
            outcomes.forEach(this::learn);
            Outcome ofOther = meet(outcomes, deadlineNanos);
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
                    tell(questions.get(i), failure == null ? outcome : Outcome.of(health.named(failure)));
                }
            }
            return late;
        }

        /** Draws from an answer what it tells of the server. */
        private void learn(Outcome outcome) {
            Reply reply = outcome.reply();
            if (outcome.failure() instanceof RedisException.Refused refused && refused.says("READONLY")) {
                server.becameReplica();
            } else if (reply != null && VoteAnswer.of(reply).tellsTime()) {
                // Counted from the sending it may be ahead by a round trip, and by a slow one more than the margin.
                // Then
                // rather behind: a request that is late by mistake is sent again.
                time.saw(reply, Math.max(sentNanos, System.nanoTime() - QuorumServer.LATE_MARGIN_NANOS));
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
                        health.note(List.of(Outcome.of(e)), left);
                        return Outcome.of(health.named(e));
                    }
                }
            }
            return null;
        }

        private void tell(List<Question> questions, Outcome outcome) {
            for (Question question : questions) {
                tell(question, outcome);
            }
        }

        private void tell(Question question, Outcome outcome) {
            tell(question.poll(), question.ask(), question.told(outcome));
        }

        /** Whatever it makes of it, the others are to be told of theirs. */
        private void tell(Poll poll, Ask ask, Outcome outcome) {
            try {
                try {
                    poll.asked(QuorumNode.this, ask.mayRunUntilNanos(), outcome);
                } finally {
                    poll.heard(QuorumNode.this, outcome);
                }
            } catch (Throwable e) {
                report("An answer was not understood", e);
            }
        }
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
                if (deadline - now <= 0 || !health.enter(now)) {
                    return;
                }
                try {
                    long heard = listener == null ? 0 : listener.heard();
                    redis.publish(channel, message, deadline - now);
                    health.answered();
                    if (listener != null) {
                        listener.published(heard);
                    }
                } catch (RedisException e) {
                    Throwable met = health.noteSafely(e, deadline - now);
                    if (met != null) {
                        report("A failure was not noted", met);
                    }
                } catch (Throwable e) {
                    health.unknown();
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
        lane.shutdown();
    }

    /** Ends when what it was told before is done, at most at a time. */
    public void close(long deadlineNanos) {
        try {
            turnsEnd.await(deadlineNanos, () -> waiting.isEmpty() && !turn.get());
            calls.shutdown();
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
