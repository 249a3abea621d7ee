package io.github.redislocks.watchdog;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Steps;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.health.Availability;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
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

/**
 * A thread that sends batches of jobs to one server and passes each reply or failure to its job. The thread sends one
 * batch at a time, in pipelines, and urgent commands between the pipelines.
 */
public final class BatchSender implements Runnable {

    private record Work(List<Job> jobs, boolean ping) {}

    /** The outcome that a job gets if an error kept the reply from the job. */
    private static final Outcome LOST =
            Outcome.of(new RedisException.Unanswered("an error kept the reply from its job", true, null));

    /** The size of one pipeline to a nearby server: as many holds as one script renews. */
    private static final int PIPELINE = 32;

    /**
     * The least timeout of a batch is this multiple of the time that the last pipeline took: enough to connect anew. A
     * timeout closes the connection that all holds share, so one hold with a short lease must not cause timeouts again
     * and again.
     */
    private static final int LEAST_TRIPS = 8;
    /** However near or far the server is, the least timeout lies between these two. */
    private static final long NEAR_TIMEOUT_NANOS = 100_000_000;

    private static final long FAR_TIMEOUT_NANOS = 750_000_000;
    /** For each 500 µs that a pipeline took, the next may have PIPELINE more holds, MAX_FACTOR times at most. */
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
    /** Commands whose callers wait or have just returned. The queue has each pending command at most once. */
    private final Queue<PendingCommand> urgent = new ConcurrentLinkedQueue<>();

    private volatile boolean busy;
    private volatile long usedNanos;
    /** The size of the next pipeline. Confined to the sender's thread. */
    private long pipeline = PIPELINE;
    /** The least timeout of the next batch. Confined to the sender's thread. */
    private long leastNanos = FAR_TIMEOUT_NANOS;

    /** {@code onFree} runs each time the sender can take a batch again or leaves a command to another sender. */
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

    /** Whether the sender can take a batch. */
    public boolean isFree() {
        return batch.get() == null;
    }

    /** Whether nothing is being sent. */
    public boolean isIdle() {
        return isFree() && urgent.isEmpty() && !busy;
    }

    /** When the sender last got work, or was made. */
    public long usedNanos() {
        return usedNanos;
    }

    /** Sends these jobs, and then a ping to the mailbox if wanted. Call only while the sender is free. */
    public void send(List<Job> jobs, boolean ping) {
        usedNanos = clock.nanoTime();
        Work next = new Work(jobs, ping);
        // From here on nothing allocates, so that every job that has begun is sent.
        for (int i = jobs.size() - 1; i >= 0; i--) {
            if (!jobs.get(i).begin()) {
                jobs.remove(i);
            }
        }
        batch.set(next);
        loop.wake();
    }

    /**
     * Sends a command as soon as possible; the caller has called {@link Job#begin} for it. Returns false if the sender
     * is closed. Any thread may call this.
     */
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

    /** Sends what waits, or parks. Called by the duty loop. */
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

    /** Ends each job even after an error: a job that did not end would never be sent again. */
    private static void end(List<Job> jobs) {
        Steps.forEach(jobs, Job::end);
    }

    /** Sends one pipeline. Not all urgent commands: they may keep coming, and a batch must not wait for ever. */
    private void sendUrgent() {
        if (urgent.isEmpty()) {
            return;
        }
        List<Job> jobs = new ArrayList<>(PIPELINE);
        boolean answered = true;
        try {
            PendingCommand next = urgent.poll();
            while (next != null) {
                jobs.add(next);
                next = jobs.size() < pipeline ? urgent.poll() : null;
            }
            answered = send(jobs, commandTimeoutNanos);
        } finally {
            end(jobs);
        }
        if (!answered) {
            failUrgent();
        }
    }

    /**
     * Fails all urgent commands without sending them, since Redis does not answer: a thread that waits for the last of
     * them must not wait for the timeouts of all.
     */
    private void failUrgent() {
        for (PendingCommand command = urgent.poll(); command != null; command = urgent.poll()) {
            try {
                command.failed(notSent(), clock.nanoTime());
            } finally {
                command.end();
            }
        }
    }

    /** The failure of a command that was not sent because another one timed out: the server is away. */
    private static RedisException notSent() {
        return new RedisException.Unanswered(
                "not sent, since Redis did not answer the requests before it", false, null);
    }

    private void endUrgent() {
        for (PendingCommand command = urgent.poll(); command != null; command = urgent.poll()) {
            command.end();
            // `end()` leaves the command to another sender and wakes nobody. This call wakes the watchdog, which gives
            // the command to that sender.
            onFree.run();
        }
    }

    private void send(Work current) {
        long timeout = commandTimeoutNanos;
        for (Job job : current.jobs) {
            timeout = Math.min(timeout, Math.max(leastNanos, job.patienceNanos()));
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
            job.failed(notSent(), clock.nanoTime());
        }
        if (current.ping) {
            try {
                ping.ping(timeout);
            } catch (RedisException e) {
                Loggers.CONNECTION.debug("No ping to the mailbox: {}", e.getMessage());
            }
        }
    }

    /** How many jobs to send in one pipeline: few, so that Redis has time for others; more if it is far away. */
    private int pipelined(List<Job> jobs) {
        long size = 0;
        int count = 0;
        while (count < jobs.size() && size < pipeline) {
            size += jobs.get(count).size();
            count++;
        }
        return count;
    }

    /** Sends jobs in one pipeline; false if Redis did not answer. */
    private boolean send(List<Job> jobs, long timeout) {
        long sent = clock.nanoTime();
        List<Call> calls = new ArrayList<>(jobs.size());
        for (Job job : jobs) {
            calls.add(job.call(sent, timeout));
        }
        List<Outcome> outcomes = Collections.nCopies(calls.size(), LOST);
        boolean answered = false;
        boolean silent = false;
        try {
            outcomes = redis.runAll(calls, timeout);
        } finally {
            // After an error each call counts as unanswered, so that its job is sent again after a pause.
            long took = clock.nanoTime() - sent;
            pipeline = PIPELINE * (1 + Math.min(MAX_FACTOR, took / FAR_NANOS));
            leastNanos = Math.max(NEAR_TIMEOUT_NANOS, Math.min(FAR_TIMEOUT_NANOS, LEAST_TRIPS * took));
            for (int i = 0; i < jobs.size(); i++) {
                Outcome outcome = outcomes.get(i);
                boolean lost = outcome.failure() instanceof RedisException.Unanswered;
                silent |= lost;
                answered |=
                        !lost && (outcome.reply() == null || !outcome.reply().is(Reply.UNASKED));
                Job job = jobs.get(i);
                if (!Loggers.INTERNAL.guard(
                        job, calls.get(i), (each, call) -> pass(each, call, outcome, sent, timeout))) {
                    // An error counts as a missing answer, so that the job is sent again.
                    pass(job, calls.get(i), LOST, sent, timeout);
                }
            }
        }
        return answered || !silent;
    }

    /** Passes an outcome to its job, and notes whether the server answered. */
    private void pass(Job job, Call call, Outcome outcome, long sent, long timeout) {
        Availability server = monitored.of(call.keys().get(0));
        long now = clock.nanoTime();
        if (outcome.reply() != null) {
            server.answered(call, outcome.reply(), now);
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

    public void close() {
        loop.close();
        endUrgent();
    }

    public Thread thread() {
        return loop.thread();
    }
}
