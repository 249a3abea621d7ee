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
 * The residences of a client. Makes the lock objects. Gives a lease up when no thread has used it for its time, when
 * another client recalls it, or when a thread or handle of this client wants its own hold in Redis.
 */
public final class Residences implements Wanted, Task {

    /**
     * If a client keeps more leases than allowed, it gives up the surplus and, in addition, the allowed number divided
     * by {@code PART}. So the search for the oldest leases is rare.
     */
    private static final int PART = 16;

    /**
     * The watchdog gives up leases, and asks about leases, only at ticks, so that one inspection serves many leases.
     * This is the number of ticks in the time for which a lease is kept, or until Redis is asked again.
     */
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
    /** The number of leases that no thread used at the last inspection, plus the number of leases acquired since. */
    private final AtomicLong idle = new AtomicLong();
    /**
     * The residences by the lock's key. The values are weak: an entry lasts as long as a lock object or a lease refers
     * to the residence.
     */
    private final Cache<String, Residence> byLock =
            Caffeine.newBuilder().executor(Runnable::run).weakValues().build();
    /** Whether the client has ever had a residence. Until then, no method looks into {@link #byLock}. */
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

    /** Makes the {@link Sync} of one lock object. */
    public Sync lock(LockEngine engine, LockKeys keys, boolean fair, Settings own) {
        // A client cannot keep a fair lock, since only Redis knows the order of its waiters, nor a lock with maxHold,
        // since each of its holds has to end in Redis.
        boolean keeps = own.residencyNanos() > 0 && own.maxHoldMillis() == 0 && !fair;
        return new KeptLock(engine, keys, fair, own, this, keeps ? of(keys, own.residencyNanos()) : null);
    }

    /**
     * Returns the residence of a lock, or makes it.
     *
     * @param keepNanos for how long a new residence keeps an unused lease; the next unlock may change this time
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

    /**
     * Returns true if the client has a valid lease of the lock. Then the client knows without a request whether a
     * thread holds the lock.
     */
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

    /**
     * The threads that wait for a lock of a residence, each with its lock: threads that wait for the turn, and threads
     * that got the turn after a wait and have not finished their acquisition.
     */
    public Map<Thread, LockKeys> waiting() {
        Map<Thread, LockKeys> waiting = new HashMap<>();
        for (Residence residence : byLock.asMap().values()) {
            for (Thread thread : residence.turn.queuedThreads()) {
                waiting.put(thread, residence.keys);
            }
        }
        return waiting;
    }

    /** If the holder that Redis names is a residence of this client, returns the thread that holds the lock instead. */
    public LockInspection.Holder known(LockKeys keys, LockInspection.Holder holder) {
        Residence residence = known(keys.lock());
        ThreadHold local = residence == null ? null : residence.holding();
        if (local == null || !holder.owner().toString().equals(local.lease.owner.id)) {
            return holder;
        }
        // The token of the lease is the time of its grant, in microseconds, by the server's clock.
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

    /** Gives the lease up if no thread has the lock, and then answers the other client. */
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

    /** The number of locks that the client keeps and that none of its threads holds. */
    public long countIdle() {
        long idle = 0;
        for (Residence residence : all()) {
            Hold lease = residence.lease();
            idle += lease != null && lease.isOpen() && residence.holding() == null ? 1 : 0;
        }
        return idle;
    }

    /** The residences that have, or may still have, a lease in Redis. */
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
        // Use Steps: an error at one lease must not prevent the inspection of the other leases and of the losses.
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
        /** When the next inspection is due. */
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
            // `since` is not earlier than the acquisition of the lease: a thread may have just acquired the lease, and
            // be about to use it.
            long since = residence.unlockedNanos(lease);
            long end = endNanos(residence, since);
            if (end <= now || !lease.isOpen() || ends.reason(residence, lease) != null) {
                ends.giveUpIfIdle(residence, end <= now ? LockGivenUp.Reason.IDLE : null, together);
            } else {
                lookAt(end);
                kept.add(new Kept(residence, since));
            }
        }

        /** If too many leases are kept, gives up those that have been unused longest. */
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

    /** When to give up a lease that has been unused since {@code sinceNanos}: at the first tick after its time. */
    private static long endNanos(Residence residence, long sinceNanos) {
        long tick = Math.max(LEAST_TICK_NANOS, residence.keepNanos() / TICKS);
        return ((sinceNanos + residence.keepNanos()) / tick + 1) * tick;
    }

    /**
     * Notes that a thread has unlocked, and that the client keeps the lock.
     *
     * @param keepNanos the residency of the thread's lock object; 0 if the object was made without residency
     */
    void kept(Residence residence, long keepNanos, long now) {
        if (keepNanos > 0 && keepNanos != residence.keepNanos()) {
            residence.keepFor(keepNanos);
        }
        watchdog.wakeAt(endNanos(residence, now));
    }

    /**
     * Notes that a thread has acquired a lease. If there may be too many leases now, wakes the watchdog, which gives up
     * unused ones.
     */
    void begun(Hold lease) {
        long lookNanos = lease.acquiredNanos + Timing.heartbeatMillis(lease.leaseMillis()) * 1_000_000;
        watchdog.wakeAt(idle.incrementAndGet() > settings.maxResident() ? 0 : lookNanos);
    }

    /** A residence whose lock no thread has had since {@code sinceNanos}. */
    private record Kept(Residence residence, long sinceNanos) {}

    /**
     * Makes the client ask Redis about a lease once in each heartbeat's time, since the threads that rely on the lease
     * send no requests themselves. Returns when to call this method again: at the start of a tick, so that one request
     * asks about many leases.
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

    /** Gives up all leases: an unused lease now, any other after its next unlock. From now on, no lease is kept. */
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

    /** Repeats notifications of losses that an error has stopped. */
    public void tellUntold() {
        threadLosses.inspect(clock.nanoTime());
    }
}
