package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one scheduler of a client. It renews holds, sends the heartbeats of waiters and runs errands, in batches, and
 * declares losses at their deadlines. One thread looks after deadlines and never waits for Redis; what is due is sent
 * by others, a {@link Sender} for each server, so that a server that hangs delays no declaration and nobody else's
 * batch.
 *
 * <p>Nothing is scheduled per hold: the first thread walks over what there is and sleeps until the next deadline of
 * all. A lock that is released within its first third of a lease costs it nothing.
 */
final class Watchdog {

    /** Something due that is sent to Redis: a renewal, a heartbeat, an errand. */
    interface Job {

        /** The call, made just before it is sent. Its first key is the one that {@link Due#add} was given. */
        Call call(long sentNanos, long timeoutNanos);

        /** How long its answer is worth waiting for. */
        long patienceNanos();

        /** How much it has to do. */
        default int size() {
            return 1;
        }

        void answered(Reply reply, long sentNanos);

        void failed(RedisException failure, long sentNanos);
    }

    /** What is due now. */
    @FunctionalInterface
    interface Due {

        /**
         * Makes and takes a job on a lock key, unless its server has a batch to answer; then the watchdog comes back
         * when that has ended.
         */
        void add(String key, Supplier<Job> job);
    }

    /** What the watchdog looks after. */
    interface Ward {

        /**
         * Adds the jobs that are due, and returns when it wants to be asked again.
         *
         * @param horizon before this it will not be asked again; what may be done sooner than due is due by then
         */
        long inspect(long now, long horizon, Due due);
    }

    private static final Logger log = LoggerFactory.getLogger(Watchdog.class);

    /**
     * How long the watchdog rests after a walk, for each hold beyond the first few: about 100 times as long as it looks
     * at one. By their number, not by the time that it took: on a busy machine that says nothing.
     */
    private static final long REST_NANOS = 4_000;

    private static final long FEW = 1_000;

    /** How long a sender is kept that had nothing to send: its server may be gone. */
    private static final long IDLE_NANOS = 60_000_000_000L;

    private final Client client;
    private final List<Ward> wards;
    private final Queue<Errand> errands = new ConcurrentLinkedQueue<>();
    /** By server; changed by the scheduler only. */
    private final ConcurrentMap<String, Sender> senders = new ConcurrentHashMap<>();

    private final Thread scheduler = new Thread(this::schedule, "redis-locks-watchdog");
    private final AtomicLong wakeAtNanos = new AtomicLong(Long.MAX_VALUE);
    private volatile boolean closed;

    Watchdog(Client client) {
        this.client = client;
        this.wards = List.of(new Renewals(client), new Heartbeats(client), this::inspectErrands);
        scheduler.setDaemon(true);
    }

    void start() {
        scheduler.start();
    }

    /** Says that something is due at a time, which may be sooner than anything before. */
    void wakeAt(long nanos) {
        long planned = wakeAtNanos.get();
        while (nanos < planned) {
            if (wakeAtNanos.compareAndSet(planned, nanos)) {
                LockSupport.unpark(scheduler);
                return;
            }
            planned = wakeAtNanos.get();
        }
    }

    void run(Errand errand) {
        errands.add(errand);
        wakeAt(errand.nextTryNanos());
    }

    /** Whether there are errands that their server would answer. */
    boolean hasErrands() {
        long now = client.clock.nanoTime();
        return errands.stream()
                .anyMatch(errand ->
                        !errand.isAnswered() && client.outage(errand.key()).age(now) == 0);
    }

    private long inspectErrands(long now, long horizon, Due due) {
        long next = Long.MAX_VALUE;
        errands.removeIf(errand -> !errand.isUnderWay() && errand.isDone());
        for (Errand errand : errands) {
            if (errand.nextTryNanos() > now) {
                next = Math.min(next, errand.nextTryNanos());
            } else if (!errand.isUnderWay()) {
                due.add(errand.key(), errand::begin);
            }
        }
        return next;
    }

    private void schedule() {
        long restUntil = 0;
        while (!closed) {
            long now = client.clock.nanoTime();
            long wakeAt = Math.max(wakeAtNanos.get(), restUntil);
            if (wakeAt > now) {
                client.clock.parkUntil(this, wakeAt);
                continue;
            }
            // Whoever adds something from here on says so anew.
            wakeAtNanos.set(Long.MAX_VALUE);
            long restNanos = restNanos();
            long next = sweep(now + restNanos);
            restUntil = now + restNanos;
            wakeAt(next);
        }
    }

    private long restNanos() {
        long many = Math.max(0, client.holds.count() - FEW);
        return Math.min(many * REST_NANOS, client.renewalNanos() / 8);
    }

    /** Looks after everything once; returns when something is due next. */
    private long sweep(long horizon) {
        Map<Sender, List<Job>> due = new LinkedHashMap<>();
        Due collector = (key, job) -> {
            Sender sender = sender(key);
            if (sender.isIdle()) {
                due.computeIfAbsent(sender, first -> new ArrayList<>()).add(job.get());
            }
        };
        long next = Long.MAX_VALUE;
        for (Ward ward : wards) {
            try {
                next = Math.min(next, ward.inspect(client.clock.nanoTime(), horizon, collector));
            } catch (Throwable e) {
                log.error("The watchdog met an error and goes on", e);
            }
        }
        boolean heartbeats = due.values().stream()
                .anyMatch(jobs -> jobs.stream().anyMatch(job -> job instanceof Heartbeats.Heartbeat));
        Sender pinger = heartbeats ? sender(client.mailbox.channel()) : null;
        if (pinger != null && pinger.isIdle()) {
            due.computeIfAbsent(pinger, first -> List.of());
        }
        due.forEach((sender, jobs) -> sender.send(jobs, sender == pinger));
        retire();
        return next;
    }

    private Sender sender(String key) {
        return senders.computeIfAbsent(client.redis.serverOf(key), server -> {
            Sender sender = new Sender(client);
            sender.start();
            if (closed) {
                sender.close();
            }
            return sender;
        });
    }

    private void retire() {
        if (senders.size() > 1) {
            long now = client.clock.nanoTime();
            senders.values().removeIf(sender -> {
                boolean idle = sender.isIdle() && now - sender.usedNanos() > IDLE_NANOS;
                if (idle) {
                    sender.close();
                }
                return idle;
            });
        }
    }

    /** Whether nothing is being sent. */
    boolean isIdle() {
        return senders.values().stream().allMatch(Sender::isIdle);
    }

    /** Ends all threads; what is under way fails when the connections close. */
    void close() {
        closed = true;
        LockSupport.unpark(scheduler);
        senders.values().forEach(Sender::close);
    }

    List<Thread> threads() {
        List<Thread> threads = new ArrayList<>(List.of(scheduler));
        senders.values().forEach(sender -> threads.add(sender.thread()));
        return threads;
    }
}
