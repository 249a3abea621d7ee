package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.Bell;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.OneThreadExecutor;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
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
public final class QuorumNode extends PolledMaster {

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

    public final Threads threads;
    final NodeHealth health;

    /** What is to be asked next, by whoever has the {@link #turn}. */
    private final Queue<OpenQuestion> waiting = new ConcurrentLinkedQueue<>();

    private final AtomicInteger waitingCount = new AtomicInteger();
    /** Taken while calls are under way. */
    private final AtomicBoolean turn = new AtomicBoolean();

    private final Bell turnsEnd = new Bell();
    public final OneThreadExecutor calls;
    public final OneThreadExecutor lane;
    private volatile boolean closing;
    private final WithdrawRetries retries;
    /** When turns were last begun to be counted, and how many there were: of the thread that asks slowly. */
    private long countedNanos;

    private int counted;

    public QuorumNode(
            int index, QuorumServer server, Settings settings, QuorumCalls quorum, RetryTimer timer, Threads threads) {
        super(index, server);
        this.threads = threads;
        this.health = new NodeHealth(redis::address, settings.commandTimeoutNanos() / 2, () -> closing, threads);
        this.retries = new WithdrawRetries(this, quorum, timer);
        this.calls = new OneThreadExecutor(MOST_WAITING, IDLE_SECONDS, threads.factory("node-" + redis.address()));
        this.lane = new OneThreadExecutor(
                MOST_WAITING, BACKGROUND_IDLE_SECONDS, threads.factory("lane-" + redis.address()));
    }

    /** Puts these questions to the node and returns at once; each poll hears what became of its own. */
    public void ask(List<? extends Poll> polls, long deadlineNanos, boolean background) {
        retries.resume();
        List<OpenQuestion> questions = new ArrayList<>(polls.size());
        for (int i = 0; i < polls.size(); i++) {
            Poll poll = polls.get(i);
            if (poll.concerns(this)) {
                OpenQuestion question = new OpenQuestion(poll, deadlineNanos);
                questions.add(question);
                // From now on, not only when it is sent: another client's withdrawal may overtake it on the way there.
                poll.asking(this, question.mayRunUntilNanos());
            } else {
                poll.heard(this, Poll.UNASKED);
            }
        }
        if (!background) {
            for (int i = 0; i < questions.size(); i++) {
                ask(questions.get(i));
            }
        } else if (!questions.isEmpty()) {
            Turn own = new Turn(this, questions, true);
            try {
                lane.execute(own::askSlowly);
            } catch (Throwable e) {
                own.tellAll(unsent(e));
            }
        }
    }

    private void ask(OpenQuestion question) {
        boolean queued = false;
        Outcome failure;
        try {
            String refusal = enqueue(question);
            queued = refusal == null;
            if (queued) {
                advance();
                // Whoever has the turn may wait for a thread that an error has ended, and nobody else gives it one.
                calls.revive();
                return;
            }
            failure = unsent(redis.address() + ": " + refusal);
        } catch (Throwable e) {
            if (queued && !dequeue(question)) {
                // It was taken by somebody who tells what becomes of it.
                return;
            }
            failure = unsent(e);
        }
        new Turn(this, List.of(question), false).tellAll(failure);
    }

    /** Why it may not wait, or null. */
    private @Nullable String enqueue(OpenQuestion question) {
        if (closing) {
            return "closed";
        }
        if (waitingCount.get() >= MOST_WAITING) {
            return "too many calls wait";
        }
        waitingCount.incrementAndGet();
        boolean added = false;
        try {
            waiting.add(question);
            added = true;
            return null;
        } finally {
            if (!added) {
                waitingCount.decrementAndGet();
            }
        }
    }

    private boolean dequeue(OpenQuestion question) {
        boolean removed = waiting.remove(question);
        if (removed) {
            waitingCount.decrementAndGet();
        }
        return removed;
    }

    @Override
    public void again(Withdrawal order, long notBeforeNanos) {
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
        List<OpenQuestion> taken = new ArrayList<>(MOST_TOGETHER);
        Turn mine = new Turn(this, taken, false);
        OpenQuestion next = waiting.peek();
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
        } catch (Throwable e) {
            mine.tellAll(unsent(e));
            return false;
        }
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

    /** Closed, or no thread could be started or no memory was left: this node is one less, and the others are asked. */
    private Outcome unsent(Throwable e) {
        return unsent(redis.address() + ": " + (e instanceof RejectedExecutionException ? e.getMessage() : e));
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
                if (deadline - now <= 0 || !health.enter(now, deadline - now)) {
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

    /** Takes no more work; what is still to be withdrawn is, when all else is done, until a time at most. */
    public void shutDown(long deadlineNanos) {
        closing = true;
        try {
            if (remembered() > 0) {
                lane.execute(new Runnable() {
                    @Override
                    public void run() {
                        awaitTurns(deadlineNanos);
                        retries.sendRest(deadlineNanos);
                    }
                });
            }
        } catch (Throwable e) {
            // Closed, or no thread could be started: what is left ends with its lease.
        } finally {
            lane.shutdown();
        }
    }

    /** Has the calling thread ask them, and wait for the answers. */
    void askHere(List<? extends Poll> polls, long deadlineNanos) {
        List<OpenQuestion> questions = new ArrayList<>();
        polls.forEach(poll -> questions.add(new OpenQuestion(poll, deadlineNanos)));
        new Turn(this, questions, true).askSlowly();
    }

    private void awaitTurns(long deadlineNanos) {
        turnsEnd.await(deadlineNanos, () -> waiting.isEmpty() && !turn.get());
    }

    /** Ends when what it was told before is done, at most at a time. An interrupt is kept. */
    public void close(long deadlineNanos) {
        try {
            awaitTurns(deadlineNanos);
            calls.shutdown();
            for (OneThreadExecutor each : List.of(calls, lane)) {
                boolean unused = Uninterruptibles.until(
                        deadlineNanos, nanos -> each.awaitTermination(nanos, TimeUnit.NANOSECONDS));
            }
            health.awaitLogged(Duration.ofNanos(Math.max(0, deadlineNanos - System.nanoTime())));
        } finally {
            redis.close();
        }
    }
}
