package io.github.redislocks;

import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
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
 * The watchdog's thread that sends to one server, and tells each job what became of it: one batch at a time, and
 * between the pipelines of a batch what is urgent.
 */
final class Sender {

    private record Batch(List<Watchdog.Job> jobs, boolean ping) {}

    private static final Logger log = LoggerFactory.getLogger(Watchdog.class);

    /** Of a call that may have been sent, and whose answer could not be read or used. Made beforehand. */
    private static final Outcome LOST =
            Outcome.of(new RedisException.Unanswered("what became of it could not be told", true, null));

    private static final long MIN_TIMEOUT_NANOS = 20_000_000;
    /** How long a pipeline may take before the next is made longer, and by how much at most. */
    private static final long FAR_NANOS = 500_000;

    private static final long MAX_FACTOR = 15;

    private final Client client;
    private final DutyLoop loop = new DutyLoop("redis-locks-renewals", this::turn);
    private final AtomicReference<@Nullable Batch> batch = new AtomicReference<>();
    /** Of callers that wait for them, or have just gone; each errand is here at most once. */
    private final Queue<Errand> urgent = new ConcurrentLinkedQueue<>();

    private volatile boolean busy;
    private volatile long usedNanos;
    /** How much of what is due is sent at once; of the thread. */
    private long pipeline = Renewals.BATCH;

    Sender(Client client) {
        this.client = client;
        this.usedNanos = client.clock.nanoTime();
    }

    void start() {
        loop.start();
    }

    /** Whether it takes a batch. */
    boolean isFree() {
        return batch.get() == null;
    }

    /** Whether nothing is being sent. */
    boolean isIdle() {
        return isFree() && urgent.isEmpty() && !busy;
    }

    /** When it was last given something to do, or made. */
    long usedNanos() {
        return usedNanos;
    }

    /** Sends these, and then perhaps a ping to the mailbox. Only for who found it free. */
    void send(List<Watchdog.Job> jobs, boolean ping) {
        usedNanos = client.clock.nanoTime();
        Batch next = new Batch(jobs, ping);
        // From here on nothing fails: whatever has begun is sent.
        for (int i = jobs.size() - 1; i >= 0; i--) {
            if (!jobs.get(i).begin()) {
                jobs.remove(i);
            }
        }
        batch.set(next);
        loop.wake();
    }

    /** Sends this, which has begun, as soon as possible; false if it is closed. From any thread. */
    boolean sendNow(Errand errand) {
        usedNanos = client.clock.nanoTime();
        urgent.add(errand);
        loop.wake();
        if (loop.isClosed()) {
            endUrgent();
            return false;
        }
        return true;
    }

    private void turn() {
        Batch current = batch.get();
        if (current == null && urgent.isEmpty()) {
            LockSupport.park(this);
            return;
        }
        busy = true;
        try {
            sendUrgent();
            if (current != null) {
                send(current);
            }
        } finally {
            if (current != null) {
                end(current.jobs);
                batch.set(null);
            }
            busy = false;
            client.watchdog.wakeAt(0);
        }
    }

    /** Whatever happened, each job ends: one that did not would never be sent again. */
    private static void end(List<Watchdog.Job> jobs) {
        for (int i = 0; i < jobs.size(); i++) {
            jobs.get(i).end();
        }
    }

    /** Sends one pipeline of what is urgent; of that there may be no end, and a batch must not wait for it. */
    private void sendUrgent() {
        if (urgent.isEmpty()) {
            return;
        }
        List<Watchdog.Job> jobs = new ArrayList<>(Renewals.BATCH);
        try {
            while (jobs.size() < Renewals.BATCH && !urgent.isEmpty()) {
                jobs.add(urgent.poll());
            }
            send(jobs, client.options.commandTimeoutNanos());
        } finally {
            end(jobs);
        }
    }

    private void endUrgent() {
        for (Errand errand = urgent.poll(); errand != null; errand = urgent.poll()) {
            errand.end();
            // It is for another to send, and nobody else wakes the watchdog for that.
            client.watchdog.wakeAt(0);
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
            sendUrgent();
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
            answered |= outcome.reply() != null || outcome.failure() instanceof RedisException.Unready;
            try {
                tell(jobs.get(i), calls.get(i), outcome, sent, timeout);
            } catch (Throwable e) {
                // As if there had been no answer: it is asked for once more.
                tell(jobs.get(i), calls.get(i), LOST, sent, timeout);
                log.error(
                        "The watchdog could not use the answer to {}",
                        calls.get(i).script(),
                        e);
            }
        }
        return answered;
    }

    private void tell(Watchdog.Job job, Call call, Outcome outcome, long sent, long timeout) {
        Availability server = client.availability(call.keys().get(0));
        long now = client.clock.nanoTime();
        if (outcome.reply() != null) {
            server.answered(call, now);
            job.answered(outcome.reply(), sent);
        } else if (outcome.failure() instanceof RedisException.Unready unready) {
            server.answered(call, now);
            job.failed(unready, sent);
        } else if (outcome.failure() != null) {
            server.failed(call, outcome.failure(), sent, timeout, now);
            job.failed(outcome.failure(), sent);
        }
    }

    /** Whatever happens, every job hears of it. */
    private List<Outcome> outcomes(List<Call> calls, long timeout) {
        try {
            return client.redis.runAll(calls, timeout);
        } catch (Throwable e) {
            List<Outcome> lost = Collections.nCopies(calls.size(), LOST);
            log.error("The watchdog could not send a batch", e);
            return lost;
        }
    }

    void close() {
        loop.close();
        endUrgent();
    }

    Thread thread() {
        return loop.thread();
    }
}
