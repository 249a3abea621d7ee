package io.github.redislocks;

import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
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

        /**
         * Told when it is about to be sent: until its end nobody else sends the same. Neither throws nor allocates.
         *
         * @return whether it is still to be sent; if not, its end is not told
         */
        boolean begin();

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

        /**
         * Told last, whatever became of it, also if that could not even be told. Does not throw: others are told next.
         */
        void end();
    }

    /** What is due now. */
    @FunctionalInterface
    interface Due {

        /**
         * Takes a job on a lock key, unless its server has a batch to answer: then the watchdog comes back when that
         * has ended.
         */
        void add(String key, Job job);
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

    /** When to look again after something went wrong that has nothing to do with Redis, such as want of memory. */
    private static final long AGAIN_NANOS = 100_000_000;

    /** How long a caller's work that was cut short may lie before it is seen, if there was no room to say so. */
    private static final long LOOK_UP_NANOS = 2_000_000_000;

    /** How long a sender is kept that had nothing to send: its server may be gone. */
    private static final long IDLE_NANOS = 60_000_000_000L;

    private final Client client;
    private final List<Ward> wards;
    private final Queue<Errand> errands = new ConcurrentLinkedQueue<>();
    /** By server; changed by the scheduler only. */
    private final ConcurrentMap<String, Sender> senders = new ConcurrentHashMap<>();

    private final DutyLoop scheduler = new DutyLoop("redis-locks-watchdog", this::turn);
    private final AtomicLong wakeAtNanos = new AtomicLong(Long.MAX_VALUE);
    /** Set by the scheduler only. */
    private volatile long restUntilNanos;
    /**
     * Set by a thread that leaves a hold or an attempt half done: without a call, for which there may be no room on its
     * stack.
     */
    volatile boolean stranded;

    Watchdog(Client client) {
        this.client = client;
        this.wards = List.of(
                new Renewals(client, Renewals.LOSSES),
                new Heartbeats(client),
                new Lookout(client),
                this::inspectErrands);
    }

    void start() {
        scheduler.start();
    }

    /** Says that something is due at a time, which may be sooner than anything before. */
    void wakeAt(long nanos) {
        long planned = wakeAtNanos.get();
        while (nanos < planned) {
            if (wakeAtNanos.compareAndSet(planned, nanos)) {
                scheduler.wake();
                return;
            }
            planned = wakeAtNanos.get();
        }
    }

    /** Runs an errand, if possible without the way over the scheduler, who looks after what becomes of it. */
    void run(Errand errand) {
        // Until then the scheduler leaves it alone, so that it is not sent twice.
        errand.begin();
        boolean sent = false;
        try {
            errands.add(errand);
            Sender sender = senders.get(client.redis.serverOf(errand.key()));
            sent = sender != null && errand.need() == Errand.Need.NOW && sender.sendNow(errand);
        } finally {
            if (!sent) {
                errand.end();
                errand.hasten();
                wakeAt(0);
            }
        }
    }

    /** Has the errands of which this is true sent at once. */
    void hasten(Predicate<Errand> which) {
        for (Errand errand : errands) {
            if (which.test(errand)) {
                errand.hasten();
                wakeAt(0);
            }
        }
    }

    /** Whether there are errands that wait for nobody, and that their server would answer. */
    boolean hasErrands() {
        long now = client.clock.nanoTime();
        return errands.stream()
                .anyMatch(errand -> !errand.isDone()
                        && errand.need() == Errand.Need.NOW
                        && client.availability(errand.key()).age(now) == 0);
    }

    private long inspectErrands(long now, long horizon, Due due) {
        long next = Long.MAX_VALUE;
        for (Iterator<Errand> all = errands.iterator(); all.hasNext(); ) {
            Errand errand = all.next();
            if (errand.isUnderWay()) {
                continue;
            }
            if (errand.isDue(now)) {
                due.add(errand.key(), errand);
            }
            if (errand.isDone()) {
                all.remove();
            } else if (errand.nextTryNanos() > now) {
                next = Math.min(next, errand.nextTryNanos());
            }
        }
        return next;
    }

    private void turn() {
        long now = client.clock.nanoTime();
        long wakeAt = Math.max(wakeAtNanos.get(), restUntilNanos);
        if (wakeAt > now && !stranded) {
            client.clock.parkUntil(this, wakeAt == Long.MAX_VALUE ? wakeAt : Math.min(wakeAt, now + LOOK_UP_NANOS));
            return;
        }
        stranded = false;
        // Whoever adds something from here on says so anew.
        wakeAtNanos.set(Long.MAX_VALUE);
        long next = now + AGAIN_NANOS;
        try {
            long restNanos = restNanos();
            restUntilNanos = now + restNanos;
            next = sweep(now + restNanos);
        } finally {
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
        // Told once all has been looked after, which the telling might prevent.
        AtomicReference<@Nullable Throwable> trouble = new AtomicReference<>();
        Set<String> withoutSender = new HashSet<>();
        Due collector = (key, job) -> {
            Sender sender = null;
            try {
                sender = sender(key, withoutSender);
            } catch (Throwable e) {
                // Such as want of a thread for one server, which is no reason to leave what is due on others.
                trouble.set(e);
            }
            if (sender != null && sender.isFree()) {
                add(due, sender, job);
            }
        };
        long next = Long.MAX_VALUE;
        for (Ward ward : wards) {
            try {
                next = Math.min(next, ward.inspect(client.clock.nanoTime(), horizon, collector));
            } catch (Throwable e) {
                trouble.set(e);
            }
        }
        send(due, withoutSender, trouble);
        retire();
        Throwable met = trouble.get();
        if (met != null) {
            next = Math.min(next, client.clock.nanoTime() + AGAIN_NANOS);
            log.error("The watchdog met an error and goes on", met);
        }
        return next;
    }

    private static void add(Map<Sender, List<Job>> due, Sender sender, Job job) {
        List<Job> jobs = due.get(sender);
        if (jobs == null) {
            jobs = new ArrayList<>();
            due.put(sender, jobs);
        }
        jobs.add(job);
    }

    /** Gives each sender what is due. What none takes has not begun, and is found due again. */
    private void send(
            Map<Sender, List<Job>> due, Set<String> withoutSender, AtomicReference<@Nullable Throwable> trouble) {
        Sender pinger = null;
        try {
            pinger = pinger(due, withoutSender);
        } catch (Throwable e) {
            trouble.set(e);
        }
        for (Map.Entry<Sender, List<Job>> each : due.entrySet()) {
            Sender sender = each.getKey();
            try {
                sender.send(each.getValue(), sender == pinger);
            } catch (Throwable e) {
                trouble.set(e);
            }
        }
    }

    /** Who sends a ping to the mailbox besides; null if nobody has to, or can. */
    private @Nullable Sender pinger(Map<Sender, List<Job>> due, Set<String> withoutSender) {
        Sender pinger = hasHeartbeats(due) ? sender(client.mailbox.channel(), withoutSender) : null;
        if (pinger != null && pinger.isFree() && !due.containsKey(pinger)) {
            due.put(pinger, List.of());
        }
        return pinger;
    }

    private static boolean hasHeartbeats(Map<Sender, List<Job>> due) {
        for (List<Job> jobs : due.values()) {
            for (Job job : jobs) {
                if (job instanceof Heartbeats.Heartbeat) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Makes what sends to the server of a key, so that errands go at once, also while nobody walks. */
    void prepare(String key) {
        sender(key, new HashSet<>());
    }

    /** Who sends to the server of a key, or null if none could be had in this walk. */
    private @Nullable Sender sender(String key, Set<String> withoutSender) {
        String server = client.redis.serverOf(key);
        Sender known = senders.get(server);
        if (known != null || !withoutSender.add(server)) {
            return known;
        }
        Sender made = new Sender(client);
        made.start();
        Sender other = senders.putIfAbsent(server, made);
        if (other != null || scheduler.isClosed()) {
            made.close();
        }
        return other == null ? made : other;
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

    /** Whether nothing is due or being sent. */
    boolean isIdle() {
        return Math.max(wakeAtNanos.get(), restUntilNanos) > client.clock.nanoTime()
                && senders.values().stream().allMatch(Sender::isIdle);
    }

    /** Ends all threads; what is under way fails when the connections close. */
    void close() {
        scheduler.close();
        senders.values().forEach(Sender::close);
    }

    List<Thread> threads() {
        List<Thread> threads = new ArrayList<>(List.of(scheduler.thread()));
        senders.values().forEach(sender -> threads.add(sender.thread()));
        return threads;
    }
}
