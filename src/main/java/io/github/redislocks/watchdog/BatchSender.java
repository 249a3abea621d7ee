package io.github.redislocks.watchdog;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.health.Availability;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The watchdog's thread that sends to one server, and tells each job what became of it: one batch at a time, and
 * between the pipelines of a batch what is urgent.
 */
public final class BatchSender implements Runnable {

    private record Work(List<Job> jobs, boolean ping) {}

    /** Of a call that may have been sent, and whose answer could not be read or used. Made beforehand. */
    private static final Outcome LOST =
            Outcome.of(new RedisException.Unanswered("what became of it could not be told", true, null));

    /** How much is sent at once to a server that is near: as many holds as one script renews. */
    private static final int PIPELINE = 32;

    private static final long MIN_TIMEOUT_NANOS = 20_000_000;
    /** How long a pipeline may take before the next is made longer, and by how much at most. */
    private static final long FAR_NANOS = 500_000;

    private static final long MAX_FACTOR = 15;

    private final Clock clock;
    private final Redis redis;
    private final MonitoredRedis monitored;
    private final long commandTimeoutNanos;
    private final Ping ping;
    private final Runnable onFree;
    private final DutyLoop loop;
    private final AtomicReference<@Nullable Work> batch = new AtomicReference<>();
    /** Of callers that wait for them, or have just gone; each pending command is here at most once. */
    private final Queue<PendingCommand> urgent = new ConcurrentLinkedQueue<>();

    private volatile boolean busy;
    private volatile long usedNanos;
    /** How much of what is due is sent at once; of the thread. */
    private long pipeline = PIPELINE;

    /** OnFree: run each time that it may take the next batch, or leaves a pending command to others. */
    public BatchSender(
            Clock clock,
            Redis redis,
            MonitoredRedis monitored,
            long commandTimeoutNanos,
            Ping ping,
            Runnable onFree,
            Threads threads,
            String server) {
        this.loop = new DutyLoop(threads, "sender-" + server, this);
        this.clock = clock;
        this.redis = redis;
        this.monitored = monitored;
        this.commandTimeoutNanos = commandTimeoutNanos;
        this.ping = ping;
        this.onFree = onFree;
        this.usedNanos = clock.nanoTime();
    }

    public void start() {
        loop.start();
    }

    /** Whether it takes a batch. */
    public boolean isFree() {
        return batch.get() == null;
    }

    /** Whether nothing is being sent. */
    public boolean isIdle() {
        return isFree() && urgent.isEmpty() && !busy;
    }

    /** When it was last given something to do, or made. */
    public long usedNanos() {
        return usedNanos;
    }

    /** Sends these, and then perhaps a ping to the mailbox. To be called only while it is free. */
    public void send(List<Job> jobs, boolean ping) {
        usedNanos = clock.nanoTime();
        Work next = new Work(jobs, ping);
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
    public boolean sendNow(PendingCommand command) {
        usedNanos = clock.nanoTime();
        urgent.add(command);
        loop.wake();
        if (loop.isClosed()) {
            endUrgent();
            return false;
        }
        return true;
    }

    /** One turn of its thread. */
    @Override
    public void run() {
        Work current = batch.get();
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
            onFree.run();
        }
    }

    /** Whatever happened, each job ends: one that did not would never be sent again. */
    private static void end(List<Job> jobs) {
        for (int i = 0; i < jobs.size(); i++) {
            jobs.get(i).end();
        }
    }

    /** Sends one pipeline of what is urgent; of that there may be no end, and a batch must not wait for it. */
    private void sendUrgent() {
        if (urgent.isEmpty()) {
            return;
        }
        List<Job> jobs = new ArrayList<>(PIPELINE);
        try {
            PendingCommand next = urgent.poll();
            while (next != null) {
                jobs.add(next);
                next = jobs.size() < PIPELINE ? urgent.poll() : null;
            }
            send(jobs, commandTimeoutNanos);
        } finally {
            end(jobs);
        }
    }

    private void endUrgent() {
        for (PendingCommand command = urgent.poll(); command != null; command = urgent.poll()) {
            command.end();
            // It is for another to send, and nobody else wakes the watchdog for that.
            onFree.run();
        }
    }

    private void send(Work current) {
        long timeout = commandTimeoutNanos;
        for (Job job : current.jobs) {
            timeout = Math.min(timeout, Math.max(MIN_TIMEOUT_NANOS, job.patienceNanos()));
        }
        List<Job> rest = current.jobs;
        boolean answered = true;
        while (answered && !rest.isEmpty()) {
            int count = pipelined(rest);
            answered = send(rest.subList(0, count), timeout);
            rest = rest.subList(count, rest.size());
            sendUrgent();
        }
        for (Job job : rest) {
            // One timeout is enough to learn that the server is away.
            job.failed(
                    new RedisException.Unanswered("not sent, since those before it were not answered", false, null),
                    clock.nanoTime());
        }
        if (current.ping) {
            try {
                ping.ping(timeout);
            } catch (RedisException e) {
                Loggers.CONNECTION.debug("No ping to the mailbox: {}", e.getMessage());
            }
        }
    }

    /** How many of these jobs to send at once: few, so that Redis has time for others; more if it is far away. */
    private int pipelined(List<Job> jobs) {
        long size = 0;
        int count = 0;
        while (count < jobs.size() && size < pipeline) {
            size += jobs.get(count).size();
            count++;
        }
        return count;
    }

    /** Sends these in one pipeline; false if none was answered. */
    private boolean send(List<Job> jobs, long timeout) {
        long sent = clock.nanoTime();
        List<Call> calls = new ArrayList<>(jobs.size());
        for (Job job : jobs) {
            calls.add(job.call(sent, timeout));
        }
        List<Outcome> outcomes = outcomes(calls, timeout);
        long took = clock.nanoTime() - sent;
        pipeline = PIPELINE * (1 + Math.min(MAX_FACTOR, took / FAR_NANOS));
        boolean answered = false;
        for (int i = 0; i < jobs.size(); i++) {
            Outcome outcome = outcomes.get(i);
            answered |= outcome.reply() != null || outcome.failure() instanceof RedisException.Unready;
            try {
                tell(jobs.get(i), calls.get(i), outcome, sent, timeout);
            } catch (Throwable e) {
                // As if there had been no answer: it is asked for once more.
                tell(jobs.get(i), calls.get(i), LOST, sent, timeout);
                Loggers.INTERNAL.error(
                        "The watchdog could not use the answer to {}",
                        calls.get(i).script(),
                        e);
            }
        }
        return answered;
    }

    private void tell(Job job, Call call, Outcome outcome, long sent, long timeout) {
        Availability server = monitored.of(call.keys().get(0));
        long now = clock.nanoTime();
        if (outcome.reply() != null) {
            server.answered(call, now);
            boolean unused = call.isLate(outcome.reply());
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
            return redis.runAll(calls, timeout);
        } catch (Throwable e) {
            List<Outcome> lost = Collections.nCopies(calls.size(), LOST);
            Loggers.INTERNAL.error("The watchdog could not send a batch", e);
            return lost;
        }
    }

    public void close() {
        loop.close();
        endUrgent();
    }

    public Thread thread() {
        return loop.thread();
    }
}
