package io.github.redislocks;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** What one node of a quorum is to be asked once more, each not before its time: in batches, a few in a second. */
final class Reminders {

    private static final int BATCH = 500;
    private static final long PAUSE_NANOS = 50_000_000;
    private static final long TIMEOUT_NANOS = 1_000_000_000;

    private final QuorumNode node;
    private final ScheduledExecutorService scheduler;
    /** The last one of each attempt: it ends what the ones before would have ended. */
    private final ConcurrentMap<Long, Reminder> reminders = new ConcurrentHashMap<>();

    private final AtomicBoolean scheduled = new AtomicBoolean();

    Reminders(QuorumNode node, ScheduledExecutorService scheduler) {
        this.node = node;
        this.scheduler = scheduler;
    }

    private record Reminder(Withdrawal withdrawal, long notBeforeNanos) {}

    void add(Withdrawal withdrawal, long notBeforeNanos) {
        reminders.merge(
                withdrawal.attempt(),
                new Reminder(withdrawal, notBeforeNanos),
                (one, other) -> one.withdrawal.ballot() > other.withdrawal.ballot() ? one : other);
        schedule();
    }

    private void schedule() {
        if (scheduled.compareAndSet(false, true)) {
            try {
                Future<?> unused = scheduler.schedule(this::send, PAUSE_NANOS, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException e) {
                // Closed: what is left ends with its lease.
            }
        }
    }

    private void send() {
        scheduled.set(false);
        long now = System.nanoTime();
        List<Withdrawal> due = new ArrayList<>();
        for (Map.Entry<Long, Reminder> each : reminders.entrySet()) {
            Reminder reminder = each.getValue();
            if (reminder.withdrawal.isOver(now)) {
                reminders.remove(each.getKey(), reminder);
            } else if (now - reminder.notBeforeNanos >= 0
                    && due.size() < BATCH
                    && reminders.remove(each.getKey(), reminder)) {
                due.add(reminder.withdrawal);
            }
        }
        if (!due.isEmpty()) {
            node.ask(due, now + TIMEOUT_NANOS, true);
        }
        if (!reminders.isEmpty()) {
            schedule();
        }
    }
}
