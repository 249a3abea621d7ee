package io.github.redislocks.residency;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockInspection;
import io.github.redislocks.LockOwner;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Steps;
import io.github.redislocks.engine.LockEngine;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owners;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.waiting.LocalQueue;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.waiting.Wanted;
import io.github.redislocks.watchdog.Batch;
import io.github.redislocks.watchdog.PendingCommand;
import io.github.redislocks.watchdog.Task;
import io.github.redislocks.watchdog.Watchdog;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The residences of a client. Makes the lock objects, and gives leases up: when they have been unused for their time,
 * when another client recalls them, or when a thread or handle of this client wants a hold of its own.
 */
public final class Residences implements Wanted, Task {

    /**
     * If more leases are kept than allowed, this client gives up the surplus and, in addition, the allowed number
     * divided by this, so that the search for the oldest leases is rare.
     */
    private static final int PART = 16;

    /** How many ticks there are in the time for which a lease is kept. */
    private static final int TICKS = 10;

    private static final long LEAST_TICK_NANOS = 10_000_000;

    final Clock clock;
    final Settings settings;
    final MonitoredRedis monitored;
    final UnavailableMessages unavailable;
    final Holds holds;
    final Owners owners;
    final LocalQueue localQueue;
    final Losses losses;
    final ThreadLosses threadLosses;
    final LeaseEnds ends;
    final Watchdog watchdog;
    final EventNotifier events;
    private final AtomicLong numbers = new AtomicLong();
    /** How many leases the last inspection has left without use, and how many have begun since. */
    private final AtomicLong idle = new AtomicLong();
    /**
     * The residences by the key of the lock. An entry lasts as long as a lock object or a lease refers to the
     * residence.
     */
    private final Cache<String, Residence> byLock =
            Caffeine.newBuilder().executor(Runnable::run).weakValues().build();
    /** Whether there has ever been a residence. If not, nothing is looked up. */
    private volatile boolean any;

    public Residences(RedisAccess access, WaitingParts parts, Owners owners, EventNotifier events) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.monitored = access.monitored();
        this.unavailable = access.unavailable();
        this.holds = parts.holds();
        this.owners = owners;
        this.localQueue = parts.localQueue();
        this.losses = parts.losses();
        this.watchdog = parts.watchdog();
        this.events = events;
        this.threadLosses = new ThreadLosses(losses);
        this.ends = new LeaseEnds(access, parts, events);
    }

    /** Makes the part of one lock object that uses the engine. */
    public Sync lock(LockEngine engine, LockKeys keys, boolean fair, Settings own) {
        // A client cannot keep a fair lock, since only Redis knows its order, or a lock with maxHold, whose holds end
        // in
        // Redis.
        boolean keeps = own.residencyNanos() > 0 && own.maxHoldMillis() == 0 && !fair;
        return new KeptLock(engine, keys, fair, own, this, keeps ? of(keys, own.residencyNanos()) : null);
    }

    /**
     * The residence of a lock; made if there is none. The time for which it is kept may be replaced when a thread
     * unlocks.
     */
    public Residence of(LockKeys keys, long keepNanos) {
        any = true;
        return byLock.get(keys.lock(), lock -> {
            String id = owners.clientId() + ':' + Residence.KIND + numbers.incrementAndGet();
            Residence made = new Residence(clock, id, keys, threadLosses, holds);
            made.keepFor(keepNanos);
            return made;
        });
    }

    /** Returns true if the client has ever made a lock object with residency. */
    boolean any() {
        return any;
    }

    /** The residence of a lock; null if there is none. */
    @Nullable
    public Residence known(String lock) {
        return any ? byLock.getIfPresent(lock) : null;
    }

    /** Returns true if the client keeps the lock, so that no request is needed to know whether a thread holds it. */
    public boolean has(LockKeys keys) {
        Residence residence = known(keys.lock());
        Hold lease = residence == null ? null : residence.lease();
        return lease != null && losses.isValid(lease);
    }

    /** The hold of the thread that holds the lock under a lease of the client; null if no thread does. */
    public @Nullable Held held(LockKeys keys) {
        Residence residence = known(keys.lock());
        return residence == null ? null : residence.holding();
    }

    /** The threads that wait for the turn of the lock. */
    public Collection<Thread> queuedThreads(LockKeys keys) {
        Residence residence = known(keys.lock());
        return residence == null ? List.of() : residence.turn.queuedThreads();
    }

    /** The threads that wait for a turn, or have got it after a wait and ask Redis, and what they wait for. */
    public Map<Thread, LockKeys> waiting() {
        Map<Thread, LockKeys> waiting = new HashMap<>();
        for (Residence residence : byLock.asMap().values()) {
            for (Thread thread : residence.turn.queuedThreads()) {
                waiting.put(thread, residence.keys);
            }
        }
        return waiting;
    }

    /** Completes the holder that Redis names: if it is this client, names the thread that holds the lock. */
    public LockInspection.Holder known(LockKeys keys, LockInspection.Holder holder) {
        Residence residence = known(keys.lock());
        ThreadHold local = residence == null ? null : residence.holding();
        if (local == null || !holder.owner().toString().equals(local.lease.owner.id)) {
            return holder;
        }
        // The token of the lease is the time of its grant by the clock of the server, in microseconds.
        long laterNanos = Math.max(0, local.acquiredNanos - local.lease.acquiredNanos);
        Instant since = Instant.EPOCH.plus(local.lease.token + laterNanos / 1_000, ChronoUnit.MICROS);
        LockOwner thread = LockOwner.parse(local.owner.id);
        return LockInspection.Holder.of(thread, local.count(), local.token, holder.remainingLease())
                .withSince(since);
    }

    @Override
    public void byWaiter(String lock, long attempt) {
        Residence residence = known(lock);
        if (residence != null) {
            residence.recall(attempt, clock.nanoTime());
            ends.giveUpIfIdle(residence, null, null);
        }
    }

    /** If no thread has the lock, gives it up. Answers the client after that. */
    @Override
    public void byTry(String lock, String clientId, long attempt) {
        Runnable answer = () -> watchdog.run(new Answering(lock, clientId, attempt));
        Residence residence = known(lock);
        if (residence == null) {
            answer.run();
        } else {
            residence.ask(answer);
            ends.answerTries(residence);
        }
    }

    private final class Answering extends PendingCommand {

        private final String client;
        private final long attempt;

        Answering(String lock, String client, long attempt) {
            super(clock, lock, clock.nanoTime() + settings.commandTimeoutNanos());
            this.client = client;
            this.attempt = attempt;
        }

        @Override
        public Call call() {
            return Scripts.answer(key(), client, attempt);
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            return DONE;
        }
    }

    @Override
    public void byAttempt(LockKeys keys) {
        Residence residence = known(keys.lock());
        if (residence != null) {
            ends.giveUpIfIdle(residence, LockGivenUp.Reason.OWN_HOLD, null);
        }
    }

    /** The number of locks that the client has in Redis although none of its threads holds them. */
    public long countIdle() {
        long idle = 0;
        for (Residence residence : all()) {
            Hold lease = residence.lease();
            idle += lease != null && lease.isOpen() && residence.holding() == null ? 1 : 0;
        }
        return idle;
    }

    /** The residences of the client that have a lease in Redis, or may have. */
    private Iterable<Residence> all() {
        return () -> (any ? holds.all() : List.<Hold>of())
                .stream()
                        .filter(hold -> hold.owner instanceof Residence)
                        .map(hold -> (Residence) hold.owner)
                        .iterator();
    }

    @Override
    public long inspect(long now, long horizon, Batch due) {
        if (!any) {
            return Long.MAX_VALUE;
        }
        Walk walk = new Walk(now);
        idle.set(0);
        // An error at one lease must keep neither the others nor the losses from being looked at.
        new Steps(
                        () -> Steps.forEach(all(), walk::inspect),
                        walk::giveUpOldest,
                        walk.together::leave,
                        () -> walk.lookAt(threadLosses.inspect(now)))
                .run();
        return walk.next;
    }

    /** An inspection of all leases. */
    private final class Walk {

        final LeaseEnds.Departure together = ends.new Departure();
        private final long now;
        private final List<Kept> kept = new ArrayList<>();
        /** The time of the next look. */
        long next = Long.MAX_VALUE;

        Walk(long now) {
            this.now = now;
        }

        void lookAt(long nanos) {
            next = Math.min(next, nanos);
        }

        void inspect(Residence residence) {
            Hold lease = residence.lease();
            if (lease == null) {
                return;
            }
            if (lease.isOpen()) {
                lookAt(look(residence, lease, now));
            }
            if (residence.holding() != null || residence.turn.isWanted()) {
                return;
            }
            // The later of acquisition and last unlock: a thread may have just acquired the lease and be about to use
            // it.
            long since = residence.unlockedNanos(lease);
            long end = endNanos(residence, since);
            if (end <= now || !lease.isOpen() || ends.reason(residence, lease) != null) {
                ends.giveUpIfIdle(residence, end <= now ? LockGivenUp.Reason.IDLE : null, together);
            } else {
                lookAt(end);
                kept.add(new Kept(residence, since));
            }
        }

        /** Gives up what has been kept longest, if more is kept than may be. */
        void giveUpOldest() {
            int most = settings.maxResident();
            int surplus = kept.size() > most ? kept.size() - most + most / PART : 0;
            idle.addAndGet(kept.size() - surplus);
            if (surplus > 0) {
                kept.sort(Comparator.comparingLong(Kept::sinceNanos));
                for (Kept oldest : kept.subList(0, surplus)) {
                    ends.giveUpIfIdle(oldest.residence, LockGivenUp.Reason.TOO_MANY, together);
                }
            }
        }
    }

    /**
     * When a lease that has been unused since {@code sinceNanos} is given up: at the next tick, so that one inspection
     * can end many leases.
     */
    private static long endNanos(Residence residence, long sinceNanos) {
        long tick = Math.max(LEAST_TICK_NANOS, residence.keepNanos() / TICKS);
        return ((sinceNanos + residence.keepNanos()) / tick + 1) * tick;
    }

    /**
     * Notes that a thread has unlocked a lock that is kept now.
     *
     * @param keepNanos for how long the thread's lock object wants the lock to be kept; 0 if it was made without
     *     residency
     */
    void kept(Residence residence, long keepNanos, long now) {
        if (keepNanos > 0 && keepNanos != residence.keepNanos()) {
            residence.keepFor(keepNanos);
        }
        watchdog.wakeAt(endNanos(residence, now));
    }

    /** Notes that a thread has acquired a lease: now there may be too many, so that unused ones have to be given up. */
    void begun(Hold lease) {
        long lookNanos = lease.acquiredNanos + Timing.heartbeatMillis(lease.leaseMillis()) * 1_000_000;
        watchdog.wakeAt(idle.incrementAndGet() > settings.maxResident() ? 0 : lookNanos);
    }

    /** A residence whose lock no thread has had since {@code sinceNanos}. */
    private record Kept(Residence residence, long sinceNanos) {}

    /**
     * Has Redis asked about a lease once in each heartbeat's time, since the threads that rely on the lease send no
     * requests themselves. Returns the time of the next call: the start of a tick, so that one request asks about many
     * leases.
     */
    private long look(Residence residence, Hold lease, long now) {
        long wait = Timing.heartbeatMillis(lease.leaseMillis()) * 1_000_000;
        long tick = wait / TICKS;
        long due = (Math.max(residence.lookedNanos(), lease.acquiredNanos) + wait) / tick * tick;
        if (now < due) {
            return due;
        }
        residence.looked(now);
        lease.renewAt(now);
        watchdog.wakeAt(now);
        return now + wait;
    }

    /** Gives up each lock that no thread holds, now and from now on. */
    public void close() {
        ends.close();
        LeaseEnds.Departure together = ends.new Departure();
        try {
            for (Residence residence : all()) {
                ends.giveUpIfIdle(residence, LockGivenUp.Reason.CLOSED, together);
            }
        } finally {
            together.leave();
        }
    }

    /** Notifies listeners of losses again, if an error has stopped the first notification. */
    public void tellUntold() {
        threadLosses.inspect(clock.nanoTime());
    }
}
