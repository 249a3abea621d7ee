package io.github.redislocks.quorum;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** Repeats due withdrawals at one node of a quorum, in batches, a few batches each second. */
public final class WithdrawRetries {

    /** The most withdrawals that wait. Further ones are dropped; their votes end with their leases. */
    public static final int MOST = 10_000;

    private static final int BATCH = 500;
    private static final long TIMEOUT_NANOS = 1_000_000_000;

    private final QuorumNode node;
    private final QuorumCalls calls;
    private final RetryTimer timer;
    /** The last withdrawal of each attempt. It also ends what the earlier ones would end. */
    private final ConcurrentMap<Long, Retry> retries = new ConcurrentHashMap<>();

    private final Runnable sending = this::send;

    public WithdrawRetries(QuorumNode node, QuorumCalls calls, RetryTimer timer) {
        this.node = node;
        this.calls = calls;
        this.timer = timer;
    }

    private record Retry(Withdrawal order, long notBeforeNanos) {}

    public void add(Withdrawal order, long notBeforeNanos) {
        if (retries.size() >= MOST && !retries.containsKey(order.attempt())) {
            node.unanswered.forget(order.attempt());
            return;
        }
        retries.merge(
                order.attempt(),
                new Retry(order, notBeforeNanos),
                (one, other) -> one.order.ballot() > other.order.ballot() ? one : other);
        resume();
    }

    public int size() {
        return retries.size();
    }

    private void send() {
        try {
            List<WithdrawPoll> due = due(System.nanoTime());
            if (!due.isEmpty()) {
                node.ask(due, System.nanoTime() + TIMEOUT_NANOS, true);
            }
        } finally {
            resume();
        }
    }

    /** Starts the repetition again, in case an error has stopped it. */
    public void resume() {
        if (!retries.isEmpty()) {
            timer.later(sending);
        }
    }

    /** Sends all withdrawals now, on the calling thread. Called when the node closes. */
    void sendRest(long deadlineNanos) {
        List<WithdrawPoll> rest = new ArrayList<>();
        for (Map.Entry<Long, Retry> each : retries.entrySet()) {
            if (retries.remove(each.getKey(), each.getValue()) && node.unanswered.mayHave(each.getKey())) {
                rest.add(new WithdrawPoll(calls, each.getValue().order));
            }
        }
        for (int from = 0; from < rest.size(); from += BATCH) {
            node.askHere(rest.subList(from, Math.min(from + BATCH, rest.size())), deadlineNanos);
        }
    }

    private List<WithdrawPoll> due(long now) {
        List<WithdrawPoll> due = new ArrayList<>();
        for (Map.Entry<Long, Retry> each : retries.entrySet()) {
            Retry retry = each.getValue();
            if (!node.unanswered.mayHave(each.getKey())) {
                retries.remove(each.getKey(), retry);
            } else if (now - retry.notBeforeNanos >= 0 && due.size() < BATCH && retries.remove(each.getKey(), retry)) {
                due.add(new WithdrawPoll(calls, retry.order));
            }
        }
        return due;
    }
}
