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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A master of a quorum, with the questions that wait for it. A quorum asks all nodes at the same time, and no node
 * waits for another: the calling thread sends a question if that needs no wait; otherwise a thread of the node sends
 * it. A second thread of the node does the background work.
 *
 * <p>One {@link NodeBatch} is under way at a time. Questions that come meanwhile are sent together after it, in the
 * order in which they came. So a vote that no caller waits for any more is answered before it is withdrawn. A question
 * whose time is over is not sent.
 */
public final class QuorumNode extends PolledMaster {

    private static final long IDLE_SECONDS = 5;
    private static final long BACKGROUND_IDLE_SECONDS = 1;
    /** The number of threads of a node that send questions, each on its own connection. */
    public static final int THREADS = 2;

    /** The most questions in a batch. */
    private static final int MOST_TOGETHER = 64;

    /** The most questions that may wait. */
    private static final int MOST_WAITING = 10_000;

    /** After this number of slow batches in a second, the node opens a quick connection, on which callers send. */
    private static final int OFTEN = 4;

    private static final long SECOND_NANOS = 1_000_000_000;

    public final Threads threads;
    final NodeHealth health;

    /** The questions that wait for the next batches. */
    private final Queue<NodeQuestion> waiting = new ConcurrentLinkedQueue<>();

    private final AtomicInteger waitingCount = new AtomicInteger();
    /** The batch that is under way, or null. */
    private final AtomicReference<@Nullable NodeBatch> current = new AtomicReference<>();

    private final Bell batchEnds = new Bell();
    public final OneThreadExecutor calls;
    public final OneThreadExecutor lane;
    private volatile boolean closing;
    private final WithdrawRetries retries;
    /** When {@link #counted}, the count of slow batches, was last reset. Used by the thread of {@link #calls} only. */
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

    /** Asks the node the questions of these polls; returns at once. Each poll receives its outcome later. */
    public void ask(List<? extends Poll> polls, long deadlineNanos, boolean background) {
        retries.resume();
        List<NodeQuestion> questions = new ArrayList<>(polls.size());
        for (Poll poll : polls) {
            if (poll.concerns(this)) {
                NodeQuestion question = new NodeQuestion(poll, deadlineNanos);
                questions.add(question);
                // Note the request before it is sent: a withdrawal on another connection may overtake the request.
                poll.asking(this, question.mayRunUntilNanos());
            } else {
                poll.answered(this, Poll.UNASKED);
            }
        }
        if (!background) {
            for (NodeQuestion question : questions) {
                enqueue(question);
            }
            startNext();
            // If an error has ended the node's thread, start it again: the batch that is under way may need it.
            calls.revive();
        } else if (!questions.isEmpty()) {
            NodeBatch batch = new NodeBatch(this, questions, true);
            try {
                lane.execute(() -> askInBackground(batch));
            } catch (RejectedExecutionException e) {
                batch.answerAll(unsent(e));
            }
        }
    }

    private void enqueue(NodeQuestion question) {
        if (closing || waitingCount.get() >= MOST_WAITING) {
            question.answer(this, unsent(redis.address() + ": " + (closing ? "closed" : "too many calls wait")));
        } else {
            waiting.add(question);
            waitingCount.incrementAndGet();
        }
    }

    @Override
    public void again(Withdrawal order, long notBeforeNanos) {
        retries.add(order, notBeforeNanos);
    }

    /** The number of attempts of which the node keeps votes or withdrawals. */
    public int remembered() {
        return unanswered.size() + retries.size();
    }

    /**
     * Starts a batch of the waiting questions, unless a batch is under way; the end of that batch starts the next one.
     */
    private void startNext() {
        while (!waiting.isEmpty() && current.get() == null) {
            List<NodeQuestion> questions = new ArrayList<>(MOST_TOGETHER);
            NodeBatch batch = new NodeBatch(this, questions, false);
            if (current.compareAndSet(null, batch)) {
                start(batch, questions);
            }
        }
    }

    /** Sends the questions, or makes a thread of the node send them. */
    private void start(NodeBatch batch, List<NodeQuestion> questions) {
        boolean goesOn = false;
        try {
            take(questions);
            goesOn = batch.isWanted()
                    && (batch.sendQuickly(outcomes -> receive(batch, outcomes))
                            || goOn(batch, batch::askSlowly, false));
        } finally {
            if (!goesOn) {
                end(batch);
            }
        }
    }

    private void take(List<NodeQuestion> questions) {
        NodeQuestion next = waiting.peek();
        while (next != null && questions.size() < MOST_TOGETHER && !next.isAfterAnyOf(questions)) {
            questions.add(next);
            waiting.remove();
            waitingCount.decrementAndGet();
            next = waiting.peek();
        }
    }

    /**
     * Receives the outcomes of a batch that was sent on a quick connection. Runs on the thread that reads for all
     * nodes.
     *
     * @param outcomes null if the connection broke
     */
    private void receive(NodeBatch batch, @Nullable List<Outcome> outcomes) {
        boolean goesOn = false;
        try {
            goesOn = !batch.answerQuickly(outcomes) && goOn(batch, () -> batch.completeSlowly(outcomes), true);
        } finally {
            if (!goesOn) {
                endAndStartNext(batch);
            }
        }
    }

    /** Makes a thread of the node continue a batch; returns false if no thread can be started. */
    private boolean goOn(NodeBatch batch, Runnable work, boolean sent) {
        try {
            calls.execute(() -> goOn(batch, work));
            return true;
        } catch (RejectedExecutionException e) {
            batch.answerAll(
                    Outcome.of(new RedisException.Unanswered(redis.address() + ": " + e.getMessage(), sent, e)));
            return false;
        }
    }

    private void goOn(NodeBatch batch, Runnable work) {
        if (current.get() != batch) {
            // The batch was ended before, since no thread could be started in time.
            return;
        }
        boolean often;
        try {
            work.run();
            often = isOften();
        } finally {
            endAndStartNext(batch);
        }
        if (often && health.isSound()) {
            redis.connectQuickly(SECOND_NANOS);
        }
    }

    private void askInBackground(NodeBatch batch) {
        try {
            batch.askSlowly();
        } finally {
            batch.answerRest();
        }
    }

    private void endAndStartNext(NodeBatch batch) {
        try {
            end(batch);
        } finally {
            startNext();
        }
    }

    /** Ends a batch, also after an error: answers the questions that are left, and allows the next batch to start. */
    private void end(NodeBatch batch) {
        try {
            batch.answerRest();
        } finally {
            current.compareAndSet(batch, null);
            batchEnds.ring();
        }
    }

    /** Counts a slow batch; returns true when the count of this second reaches {@link #OFTEN}. */
    private boolean isOften() {
        long now = System.nanoTime();
        if (now - countedNanos > SECOND_NANOS) {
            countedNanos = now;
            counted = 0;
        }
        counted++;
        return counted == OFTEN;
    }

    static Outcome unsent(String message) {
        return Outcome.of(new RedisException.Unanswered(message, false, null));
    }

    /** The outcome at a node that is closed, or for which no thread could be started. */
    private Outcome unsent(RejectedExecutionException e) {
        return unsent(redis.address() + ": " + e.getMessage());
    }

    /** This client's subscription to a channel on which this client also publishes. */
    public interface Listener {

        /** The number of messages received so far. */
        long received();

        /**
         * Notes that the client has published a message.
         *
         * @param receivedBefore the number of messages that had been received before
         */
        void published(long receivedBefore);
    }

    /** Publishes a message without waiting. If no thread can be started, the message is dropped at this node. */
    public void publish(String channel, String message, long timeoutNanos, @Nullable Listener listener) {
        long deadline = System.nanoTime() + timeoutNanos;
        try {
            lane.execute(() -> publishNow(channel, message, deadline, listener));
        } catch (RejectedExecutionException e) {
            Loggers.CONNECTION.debug("No message to {} at {}: {}", channel, redis.address(), e.getMessage());
        }
    }

    private void publishNow(String channel, String message, long deadline, @Nullable Listener listener) {
        long now = System.nanoTime();
        long left = deadline - now;
        if (left <= 0 || !health.enter(now, left)) {
            return;
        }
        try {
            long received = listener == null ? 0 : listener.received();
            redis.publish(channel, message, left);
            health.answered();
            if (listener != null) {
                listener.published(received);
            }
        } catch (RedisException e) {
            health.note(List.of(Outcome.of(e)), left);
        }
    }

    /**
     * Accepts no more questions. Starts to send the last withdrawals once the earlier questions are answered, or at
     * {@code deadlineNanos}.
     */
    public void shutDown(long deadlineNanos) {
        closing = true;
        try {
            if (remembered() > 0) {
                lane.execute(() -> {
                    awaitBatches(deadlineNanos);
                    retries.sendRest(deadlineNanos);
                });
            }
        } catch (RejectedExecutionException e) {
            Loggers.CONNECTION.debug("Votes at {} end with their leases: {}", redis.address(), e.getMessage());
        } finally {
            lane.shutdown();
        }
    }

    /** Asks the node the questions of these polls on the calling thread, and waits for the answers. */
    void askHere(List<? extends Poll> polls, long deadlineNanos) {
        List<NodeQuestion> questions = new ArrayList<>();
        polls.forEach(poll -> questions.add(new NodeQuestion(poll, deadlineNanos)));
        askInBackground(new NodeBatch(this, questions, true));
    }

    private void awaitBatches(long deadlineNanos) {
        batchEnds.await(deadlineNanos, () -> waiting.isEmpty() && current.get() == null);
    }

    /**
     * Waits until the threads have done their work, or until {@code deadlineNanos}, and closes the connection. An
     * interrupt does not end the wait; its flag is set again.
     */
    public void close(long deadlineNanos) {
        try {
            awaitBatches(deadlineNanos);
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
