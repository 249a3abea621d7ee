package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The watchdog's thread that sends to one server, one batch at a time, and tells each job what became of it. */
final class Sender {

    private record Batch(List<Watchdog.Job> jobs, boolean ping) {}

    private static final Logger log = LoggerFactory.getLogger(Watchdog.class);

    private static final long MIN_TIMEOUT_NANOS = 20_000_000;
    /** How long a pipeline may take before the next is made longer, and by how much at most. */
    private static final long FAR_NANOS = 500_000;

    private static final long MAX_FACTOR = 15;

    private final Client client;
    private final Thread thread = new Thread(this::run, "redis-locks-renewals");
    private final AtomicReference<@Nullable Batch> batch = new AtomicReference<>();
    private volatile long usedNanos;
    /** How much of what is due is sent at once; of the thread. */
    private long pipeline = Renewals.BATCH;

    private volatile boolean closed;

    Sender(Client client) {
        this.client = client;
        this.usedNanos = client.clock.nanoTime();
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** Whether nothing is being sent. */
    boolean isIdle() {
        return batch.get() == null;
    }

    /** When it was last given something to do, or made. */
    long usedNanos() {
        return usedNanos;
    }

    /** Sends these, and then perhaps a ping to the mailbox. Only for who found it idle. */
    void send(List<Watchdog.Job> jobs, boolean ping) {
        usedNanos = client.clock.nanoTime();
        batch.set(new Batch(jobs, ping));
        LockSupport.unpark(thread);
    }

    private void run() {
        while (!closed) {
            Batch current = batch.get();
            if (current == null) {
                LockSupport.park(this);
                continue;
            }
            try {
                send(current);
            } catch (Throwable e) {
                log.error("The watchdog met an error and goes on", e);
            } finally {
                batch.set(null);
                client.watchdog.wakeAt(0);
            }
        }
    }

    private void send(Batch current) {
        long timeout = client.options.commandTimeoutNanos();
        for (Watchdog.Job job : current.jobs) {
            timeout = Math.min(timeout, Math.max(MIN_TIMEOUT_NANOS, job.patienceNanos()));
        }
        List<Watchdog.Job> rest = current.jobs;
        boolean answered = true;
        while (answered && !rest.isEmpty()) {
            int count = pipelined(rest);
            answered = send(rest.subList(0, count), timeout);
            rest = rest.subList(count, rest.size());
        }
        for (Watchdog.Job job : rest) {
            // One timeout is enough to learn that the server is away.
            job.failed(
                    new RedisException.Unanswered("not sent, since those before it were not answered", false, null),
                    client.clock.nanoTime());
        }
        if (current.ping) {
            try {
                client.mailbox.ping(timeout);
            } catch (RedisException e) {
                log.debug("No ping to the mailbox: {}", e.getMessage());
            }
        }
    }

    /** How many of these jobs to send at once: few, so that Redis has time for others; more if it is far away. */
    private int pipelined(List<Watchdog.Job> jobs) {
        long size = 0;
        int count = 0;
        while (count < jobs.size() && size < pipeline) {
            size += jobs.get(count).size();
            count++;
        }
        return count;
    }

    /** Sends these in one pipeline; false if none was answered. */
    private boolean send(List<Watchdog.Job> jobs, long timeout) {
        long sent = client.clock.nanoTime();
        List<Call> calls = new ArrayList<>(jobs.size());
        for (Watchdog.Job job : jobs) {
            calls.add(job.call(sent, timeout));
        }
        List<Outcome> outcomes = outcomes(calls, timeout);
        long took = client.clock.nanoTime() - sent;
        pipeline = Renewals.BATCH * (1 + Math.min(MAX_FACTOR, took / FAR_NANOS));
        boolean answered = false;
        for (int i = 0; i < jobs.size(); i++) {
            Outcome outcome = outcomes.get(i);
            Outage outage = client.outage(calls.get(i).keys().get(0));
            try {
                if (outcome.reply() != null) {
                    answered = true;
                    outage.answered(calls.get(i));
                    jobs.get(i).answered(outcome.reply(), sent);
                } else if (outcome.failure() != null) {
                    outage.failed(calls.get(i), outcome.failure(), sent, client.clock.nanoTime());
                    jobs.get(i).failed(outcome.failure(), sent);
                }
            } catch (RuntimeException e) {
                log.error(
                        "The watchdog could not use the answer to {}",
                        calls.get(i).script(),
                        e);
            }
        }
        return answered;
    }

    /** Whatever happens, every job hears of it: one that did not would never be sent again. */
    private List<Outcome> outcomes(List<Call> calls, long timeout) {
        try {
            return client.redis.runAll(calls, timeout);
        } catch (RuntimeException e) {
            log.error("The watchdog could not send a batch", e);
            RedisException failure = new RedisException.Unanswered("the batch failed: " + e, true, e);
            return Collections.nCopies(calls.size(), Outcome.of(failure));
        }
    }

    void close() {
        closed = true;
        LockSupport.unpark(thread);
    }

    Thread thread() {
        return thread;
    }
}
