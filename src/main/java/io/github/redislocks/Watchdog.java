package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one scheduler of a client. It renews holds, sends the heartbeats of waiters and runs errands, in batches, and
 * declares losses at their deadlines. Two threads, so that a server that hangs delays no declaration: one looks after
 * deadlines and never waits for Redis, the other sends what is due.
 *
 * <p>Nothing is scheduled per hold: the first thread walks over what there is and sleeps until the next deadline of
 * all. A lock that is released within its first third of a lease costs it nothing.
 */
final class Watchdog {

    /** Something due that is sent to Redis: a renewal, a heartbeat, an errand. */
    interface Job {

        /** The call, made just before it is sent. */
        Call call(long sentNanos, long timeoutNanos);

        /** How long its answer is worth waiting for. */
        long patienceNanos();

        void answered(Reply reply, long sentNanos);

        void failed(RedisException failure, long sentNanos);
    }

    /** What the watchdog looks after: adds the jobs that are due, and returns when it wants to be asked again. */
    interface Ward {
        long inspect(long now, List<Job> due, boolean mayAdd);
    }

    private static final Logger log = LoggerFactory.getLogger(Watchdog.class);

    private static final long MIN_TIMEOUT_NANOS = 20_000_000;

    private final Client client;
    private final List<Ward> wards;
    private final Queue<Errand> errands = new ConcurrentLinkedQueue<>();
    private final AtomicReference<@Nullable List<Job>> batch = new AtomicReference<>();
    private final Thread scheduler = new Thread(this::schedule, "redis-locks-watchdog");
    private final Thread sender = new Thread(this::send, "redis-locks-renewals");
    private volatile long wakeAtNanos = Long.MAX_VALUE;
    private volatile boolean closed;

    Watchdog(Client client) {
        this.client = client;
        this.wards = List.of(new Renewals(client), new Heartbeats(client), this::inspectErrands);
        scheduler.setDaemon(true);
        sender.setDaemon(true);
    }

    void start() {
        scheduler.start();
        sender.start();
    }

    /** Says that something is due at a time, which may be sooner than anything before. */
    void wakeAt(long nanos) {
        if (nanos < wakeAtNanos) {
            LockSupport.unpark(scheduler);
        }
    }

    void run(Errand errand) {
        errands.add(errand);
        wakeAt(errand.nextTryNanos());
    }

    boolean hasErrands() {
        return errands.stream().anyMatch(errand -> !errand.isAnswered());
    }

    private long inspectErrands(long now, List<Job> due, boolean mayAdd) {
        long next = Long.MAX_VALUE;
        if (mayAdd) {
            errands.removeIf(Errand::isDone);
            for (Errand errand : errands) {
                if (errand.nextTryNanos() > now) {
                    next = Math.min(next, errand.nextTryNanos());
                } else {
                    due.add(errand);
                }
            }
        }
        return next;
    }

    private void schedule() {
        while (!closed) {
            // Whoever adds something from here on sees this value and wakes the thread once more.
            wakeAtNanos = Long.MAX_VALUE;
            long next = sweep();
            wakeAtNanos = next;
            long wait = next - client.clock.nanoTime();
            if (wait > 0 && !closed) {
                client.clock.park(this, wait);
            }
        }
    }

    /** Looks after everything once; returns when something is due next. */
    private long sweep() {
        List<Job> due = new ArrayList<>();
        boolean idle = isIdle();
        long next = Long.MAX_VALUE;
        for (Ward ward : wards) {
            try {
                next = Math.min(next, ward.inspect(client.clock.nanoTime(), due, idle));
            } catch (Throwable e) {
                log.error("The watchdog met an error and goes on", e);
            }
        }
        if (!due.isEmpty()) {
            batch.set(due);
            LockSupport.unpark(sender);
        }
        return next;
    }

    private void send() {
        while (!closed) {
            List<Job> jobs = batch.get();
            if (jobs == null) {
                LockSupport.park(this);
                continue;
            }
            try {
                send(jobs);
            } catch (Throwable e) {
                log.error("The watchdog met an error and goes on", e);
            } finally {
                batch.set(null);
                LockSupport.unpark(scheduler);
            }
        }
    }

    private void send(List<Job> jobs) {
        long sent = client.clock.nanoTime();
        long timeout = client.options.commandTimeoutNanos();
        for (Job job : jobs) {
            timeout = Math.min(timeout, Math.max(MIN_TIMEOUT_NANOS, job.patienceNanos()));
        }
        List<Call> calls = new ArrayList<>(jobs.size());
        boolean heartbeats = false;
        for (Job job : jobs) {
            calls.add(job.call(sent, timeout));
            heartbeats |= job instanceof Heartbeats.Heartbeat;
        }
        List<Outcome> outcomes = run(calls, timeout);
        for (int i = 0; i < jobs.size(); i++) {
            Outcome outcome = outcomes.get(i);
            try {
                if (outcome.reply() != null) {
                    client.outage.answered();
                    jobs.get(i).answered(outcome.reply(), sent);
                } else if (outcome.failure() != null) {
                    client.outage.failed(sent, client.clock.nanoTime());
                    jobs.get(i).failed(outcome.failure(), sent);
                }
            } catch (RuntimeException e) {
                log.error(
                        "The watchdog could not use the answer to {}",
                        calls.get(i).script(),
                        e);
            }
        }
        if (heartbeats) {
            try {
                client.mailbox.ping(timeout);
            } catch (RedisException e) {
                log.debug("No ping to the mailbox: {}", e.getMessage());
            }
        }
    }

    /** Whether nothing is being sent. */
    boolean isIdle() {
        return batch.get() == null;
    }

    /** Whatever happens, every job hears of it: one that did not would never be sent again. */
    private List<Outcome> run(List<Call> calls, long timeout) {
        try {
            return client.redis.runAll(calls, timeout);
        } catch (RuntimeException e) {
            log.error("The watchdog could not send a batch", e);
            RedisException failure = new RedisException.Unanswered("the batch failed: " + e, true, e);
            return Collections.nCopies(calls.size(), Outcome.of(failure));
        }
    }

    /** Ends both threads; what is under way fails when the connections close. */
    void close() {
        closed = true;
        LockSupport.unpark(scheduler);
        LockSupport.unpark(sender);
    }

    List<Thread> threads() {
        return List.of(scheduler, sender);
    }
}
