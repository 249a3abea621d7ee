package io.github.redislocks.residency;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockInspection;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.MemoryEdge;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.concurrent.Steps;
import io.github.redislocks.engine.Layer;
import io.github.redislocks.engine.LockEngine;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.lease.Renewals;
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
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.LocalQueue;
import io.github.redislocks.waiting.Mailbox;
import io.github.redislocks.watchdog.Batch;
import io.github.redislocks.watchdog.PendingCommand;
import io.github.redislocks.watchdog.Watchdog;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The residences of a client, as the layer above its engine. Makes the lock objects, and gives leases up: when they
 * have been unused for their time, when another client recalls them, or when a thread or handle of this client wants a
 * hold of its own.
 */
public final class Residences extends Layer {

    /**
     * If too many leases are kept, the surplus and one in this many of the allowed ones are given up, so that the
     * search for the oldest is rare.
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
    final Handoff handoff;
    final Losses losses;
    final ThreadLosses threadLosses;
    final LossRecords records = new LossRecords();
    final Watchdog watchdog;
    final EventNotifier events;
    private final Mailbox mailbox;
    private final Residence.Ended ended;
    private final AtomicLong numbers = new AtomicLong();
    /**
     * The residences by the key of the lock. An entry lasts as long as a lock object or a lease refers to the
     * residence.
     */
    private final Cache<String, Residence> byLock =
            Caffeine.newBuilder().executor(Runnable::run).weakValues().build();
    /** The residences that have a lease or a holder. */
    private final Set<Residence> watched = ConcurrentHashMap.newKeySet();
    /** Whether there has ever been a residence. If not, nothing is looked up. */
    private volatile boolean any;

    private volatile boolean closed;

    /** Makes the layer of one client. */
    public Residences(Ground ground) {
        this.clock = ground.access().clock();
        this.settings = ground.access().settings();
        this.monitored = ground.access().monitored();
        this.unavailable = ground.access().unavailable();
        this.holds = ground.parts().holds();
        this.owners = ground.owners();
        this.localQueue = ground.parts().localQueue();
        this.mailbox = ground.parts().mailbox();
        this.handoff = ground.parts().handoff();
        this.losses = ground.parts().losses();
        this.watchdog = ground.parts().watchdog();
        this.events = ground.events();
        this.threadLosses = new ThreadLosses(losses);
        this.ended = new Residence.Ended(threadLosses, records, holds);
    }

    @Override
    protected Sync lock(LockEngine engine, LockKeys keys, boolean fair, Settings own) {
        // A client cannot keep a fair lock, whose order Redis knows, or a lock with maxHold, whose holds must end in
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
            Residence made = new Residence(clock, id, keys, ended, watched);
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

    @Override
    protected boolean has(LockKeys keys) {
        Residence residence = known(keys.lock());
        Hold lease = residence == null ? null : residence.lease();
        return lease != null && losses.isValid(lease);
    }

    @Override
    protected @Nullable Held held(LockKeys keys) {
        Residence residence = known(keys.lock());
        return residence == null ? null : residence.holding();
    }

    @Override
    protected Collection<Thread> queuedThreads(LockKeys keys) {
        Residence residence = known(keys.lock());
        return residence == null ? List.of() : residence.queuedThreads();
    }

    @Override
    protected LockInspection.Holder known(LockKeys keys, LockInspection.Holder holder) {
        Residence residence = known(keys.lock());
        ThreadHold local = residence == null ? null : residence.holding();
        if (local == null || !holder.owner().toString().equals(local.lease.owner.id)) {
            return holder;
        }
        // The token of the lease is the time of its grant by the clock of the server, in microseconds.
        long laterNanos = Math.max(0, local.acquiredNanos - local.lease.acquiredNanos);
        Instant since = Instant.EPOCH.plus(local.lease.token + laterNanos / 1_000, ChronoUnit.MICROS);
        LockInspection.Owner thread = LockInspection.Owner.parse(local.owner.id);
        return LockInspection.Holder.of(thread, local.count(), local.token, holder.remainingLease(), since);
    }

    @Override
    public void byWaiter(String lock, long attempt) {
        Residence residence = known(lock);
        if (residence != null) {
            residence.recall(attempt, clock.nanoTime());
            giveUpIfIdle(residence, null, null);
        }
    }

    /** If no thread has the lock, gives it up. Answers the client after that. */
    @Override
    public void byTry(String lock, String clientId, long attempt) {
        Runnable answer = () -> watchdog.run(new Answering(lock, clientId, attempt));
        // Check the stack before the turn is taken: after a StackOverflowError nobody would end the turn.
        StackSpace.ensureLocal();
        Residence residence = known(lock);
        if (residence == null) {
            answer.run();
        } else {
            residence.ask(answer);
            answerTries(residence);
        }
    }

    /**
     * Answers a try if it is clear whether a thread of this client has the lock; otherwise returns false. In that case
     * a thread is about to get the lock or to release it, and answers the waiting tries afterwards.
     */
    private boolean isAnswered(Residence residence, Runnable answer) {
        if (residence.tryTurnFirst()) {
            Hold lease = residence.lease();
            if (lease == null) {
                // Do not call turnEnded() here, since that calls this method; and without a lease there is nothing to
                // give up.
                residence.endTurn();
                answer.run();
            } else {
                try {
                    residence.recall(lease.attempt, clock.nanoTime());
                    // The try is answered when the turn ends, that is, once the lease is released.
                    residence.ask(answer);
                } catch (RuntimeException | Error e) {
                    residence.endTurn();
                    throw e;
                }
                giveUp(residence, lease, LockGivenUp.Reason.RECALLED, null);
            }
            return true;
        }
        if (residence.holding() != null || residence.hasNothing()) {
            answer.run();
            return true;
        }
        return false;
    }

    /** Call once it is clear who holds a lock: answers the tries of other clients. */
    void answerTries(Residence residence) {
        while (residence.isAsked()
                && (residence.isTurnFree() || residence.holding() != null || residence.hasNothing())) {
            // Check the stack before the question and the turn are taken: after a StackOverflowError nobody would
            // answer the question or end the turn.
            StackSpace.ensureLocal();
            Runnable next = residence.nextAsked();
            if (next != null && !isAnswered(residence, next)) {
                residence.ask(next);
            }
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
            giveUpIfIdle(residence, LockGivenUp.Reason.OWN_HOLD, null);
        }
    }

    /**
     * Why a lease must be given up: others want the lock, or could not say that they want it, and its slice is over.
     * Null if the lease may be kept.
     *
     * @param passes whether a thread of this client would have the lock next, so that the slice counts
     */
    LockGivenUp.@Nullable Reason whyOver(Residence residence, Hold lease, long now, boolean passes) {
        LockGivenUp.Reason reason = reason(residence, lease);
        return reason != null && passes && isYoung(lease, now) ? null : reason;
    }

    /**
     * Whether a lease goes on in spite of a reason to give it up: threads of this client wait, and its slice is not
     * over.
     */
    private static boolean goesOn(Residence residence, Hold lease, long now) {
        return residence.isWanted() && isYoung(lease, now);
    }

    private static boolean isYoung(Hold lease, long now) {
        return now - lease.acquiredNanos < Timing.SLICE_NANOS;
    }

    /** Why a lease must be given up even if it was used just now: the first of the possible reasons, or null. */
    private LockGivenUp.@Nullable Reason reason(Residence residence, Hold lease) {
        if (residence.isRecalled(lease)) {
            return LockGivenUp.Reason.RECALLED;
        }
        if (residence.foundOthers()) {
            return LockGivenUp.Reason.CONTENDED;
        }
        if (closed) {
            return LockGivenUp.Reason.CLOSED;
        }
        if (!mailbox.isOpen()) {
            return LockGivenUp.Reason.NOT_LISTENING;
        }
        // A thread took this lock with a longer lease, and has released it. Give the lock up, so that if this client
        // crashes, others need not wait for that longer lease.
        boolean outlasts = lease.longestLeaseMillis() > lease.renewedMillis();
        return !outlasts && localQueue.successor(residence.keys, lease.attempt) == null
                ? null
                : LockGivenUp.Reason.OWN_HOLD;
    }

    /** Call after every turn: requests that arrived meanwhile were left to the thread that had the turn. */
    void turnEnded(Residence residence) {
        answerTries(residence);
        Hold lease = residence.lease();
        if (lease != null && residence.holding() == null) {
            LockGivenUp.Reason why = reason(residence, lease);
            if (why != null && !goesOn(residence, lease, clock.nanoTime())) {
                giveUpIfIdle(residence, why, null);
            }
        }
    }

    /**
     * Gives a lease up if no thread uses it and there is a reason: {@code otherwise}, or if that is null, the one that
     * {@link #reason} finds.
     *
     * @param together where to add the release, to send it with others; null to send it at once
     */
    private void giveUpIfIdle(
            Residence residence, LockGivenUp.@Nullable Reason otherwise, @Nullable Departure together) {
        if (residence.lease() == null) {
            return;
        }
        // Check the stack before the turn is taken: after a StackOverflowError nobody would end the turn.
        StackSpace.ensureLocal();
        if (!residence.tryTurnFirst()) {
            // The thread that has the turn checks this when it ends the turn.
            return;
        }
        boolean mayEnd = true;
        try {
            Hold lease = residence.lease();
            LockGivenUp.Reason reason = otherwise == null && lease != null ? reason(residence, lease) : otherwise;
            if (lease != null && reason != null) {
                mayEnd = false;
                giveUp(residence, lease, reason, together);
            }
        } finally {
            if (mayEnd) {
                residence.endTurn();
                turnEnded(residence);
            }
        }
    }

    /**
     * Releases a lease in the background. The caller's turn ends with the release. Until then no thread of this client
     * asks Redis for the lock, since its request could overtake the release.
     */
    private void giveUp(Residence residence, Hold lease, LockGivenUp.Reason otherwise, @Nullable Departure together) {
        try {
            residence.releases(lease);
            LeaseEnd end = new LeaseEnd(residence, lease, givingUp(residence, lease, otherwise));
            // Make the writes of the last holder visible to the next one, which may be a thread of another client in
            // this JVM.
            MemoryEdge.publish();
            release(end, together);
        } catch (Throwable e) {
            strand(residence, lease);
            throw e;
        }
    }

    private void release(LeaseEnd end, @Nullable Departure together) {
        Hold lease = end.lease;
        long until = lease.beginRelease(clock.nanoTime());
        if (until == 0) {
            losses.isValid(lease);
            losses.ended(lease);
            released(end.residence, lease);
            return;
        }
        lease.names(handoff.successor(lease));
        if (together != null && lease.successor() == null && handoff.mayReleaseTogether()) {
            end.untilNanos = until;
            together.add(end);
        } else {
            handoff.release(lease, false, until, end);
        }
    }

    /** Leaves the release to the watchdog, after an error. */
    private void strand(Residence residence, Hold lease) {
        handoff.strand(lease);
        // If this call throws too, the watchdog also ends the turn.
        released(residence, lease);
    }

    /** The end of the release of a lease. */
    private final class LeaseEnd implements Handoff.Leaving {

        private final Residence residence;
        private final Hold lease;
        private final @Nullable GivingUp told;
        private long untilNanos;

        LeaseEnd(Residence residence, Hold lease, @Nullable GivingUp told) {
            this.residence = residence;
            this.lease = lease;
            this.told = told;
        }

        @Override
        public Hold hold() {
            return lease;
        }

        @Override
        public long untilNanos() {
            return untilNanos;
        }

        @Override
        public void ended(boolean inGoodOrder) {
            try {
                if (!inGoodOrder) {
                    losses.ended(lease);
                }
                holds.remove(lease);
                if (inGoodOrder) {
                    givenUp(told);
                }
            } finally {
                released(residence, lease);
            }
        }
    }

    /** Leases whose releases are sent together, a limited number with each request. */
    private final class Departure {

        private final List<LeaseEnd> leaving = new ArrayList<>();

        void add(LeaseEnd end) {
            leaving.add(end);
            if (leaving.size() == Renewals.BATCH) {
                leave();
            }
        }

        void leave() {
            if (leaving.isEmpty()) {
                return;
            }
            try {
                handoff.releaseTogether(leaving);
            } catch (Throwable e) {
                strand();
                throw e;
            } finally {
                leaving.clear();
            }
        }

        /** Leaves all releases to the watchdog, after an error. */
        private void strand() {
            // Mark all leases first, since another error may end the loop below.
            for (int i = 0; i < leaving.size(); i++) {
                leaving.get(i).lease.stranded = true;
            }
            for (int i = 0; i < leaving.size(); i++) {
                LeaseEnd end = leaving.get(i);
                Residences.this.strand(end.residence, end.lease);
            }
        }
    }

    private void released(Residence residence, Hold lease) {
        if (residence.released(lease)) {
            turnEnded(residence);
        }
    }

    /**
     * Makes the event of a lease that is given up; null if there is no listener. Its reason is the one that
     * {@link #reason} finds, or else {@code otherwise}. Call under the turn, before the release.
     */
    @Nullable
    GivingUp givingUp(Residence residence, Hold lease, LockGivenUp.Reason otherwise) {
        if (!losses.isHeard()) {
            return null;
        }
        LockGivenUp.Reason found = reason(residence, lease);
        return residence.givingUp(lease, found == null ? otherwise : found);
    }

    /** Notifies the listeners that a lease has just been given up. Call last, since this may throw an error. */
    void givenUp(@Nullable GivingUp told) {
        if (told != null) {
            long now = clock.nanoTime();
            losses.givenUp(() -> told.at(now));
        }
    }

    @Override
    protected long countIdle() {
        long idle = 0;
        if (any) {
            for (Residence residence : watched) {
                idle += residence.lease() != null && residence.holding() == null ? 1 : 0;
            }
        }
        return idle;
    }

    @Override
    public long inspect(long now, long horizon, Batch due) {
        if (!any) {
            return Long.MAX_VALUE;
        }
        long next;
        Departure together = new Departure();
        try {
            next = inspectWatched(now, together);
        } finally {
            together.leave();
        }
        // Call these after the leases were inspected: an error here must not cost a lease its heartbeat.
        Steps.forEach(watched, residence -> residence.rescue(handoff::rescue));
        return Math.min(next, records.inspect(threadLosses, now));
    }

    private long inspectWatched(long now, Departure together) {
        long next = Long.MAX_VALUE;
        List<Kept> kept = new ArrayList<>();
        for (Residence residence : watched) {
            Hold lease = residence.lease();
            if (lease == null) {
                residence.unwatch();
                continue;
            }
            next = Math.min(next, look(residence, lease, now));
            if (residence.holding() == null && !residence.isWanted()) {
                // Count from the acquisition if that is later: a thread may have just acquired the lease and be about
                // to use it.
                long since = Math.max(residence.idleSinceNanos(), lease.acquiredNanos);
                long end = endNanos(residence, since);
                if (end <= now || reason(residence, lease) != null) {
                    giveUpIfIdle(residence, end <= now ? LockGivenUp.Reason.IDLE : null, together);
                } else {
                    next = Math.min(next, end);
                    kept.add(new Kept(residence, since));
                }
            }
        }
        int most = settings.maxResident();
        if (kept.size() > most) {
            giveUpOldest(kept, kept.size() - most + most / PART, together);
        }
        return next;
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
    void begun() {
        if (watched.size() > settings.maxResident()) {
            watchdog.wakeAt(0);
        }
    }

    /** A residence whose lock no thread has had since {@code sinceNanos}. */
    private record Kept(Residence residence, long sinceNanos) {}

    private void giveUpOldest(List<Kept> kept, int count, Departure together) {
        kept.sort(Comparator.comparingLong(Kept::sinceNanos));
        for (Kept oldest : kept.subList(0, count)) {
            giveUpIfIdle(oldest.residence, LockGivenUp.Reason.TOO_MANY, together);
        }
    }

    /**
     * Has Redis asked about a lease once in each heartbeat's time, since the threads that rely on the lease send no
     * requests themselves. Returns when to do this again: at the start of a tick, so that one request asks about many
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

    @Override
    protected void close() {
        closed = true;
        Departure together = new Departure();
        try {
            for (Residence residence : watched) {
                giveUpIfIdle(residence, LockGivenUp.Reason.CLOSED, together);
            }
        } finally {
            together.leave();
        }
    }

    @Override
    protected void tellUntold() {
        records.inspect(threadLosses, clock.nanoTime());
    }
}
