package io.github.redislocks.engine;

import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.MemoryEdge;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.Availability;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LocalHold;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Owners;
import io.github.redislocks.state.Residence;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Acquisitions;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.LocalQueue;
import io.github.redislocks.waiting.Residences;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.watchdog.Watchdog;
import org.jspecify.annotations.Nullable;

/**
 * How a thread or a handle comes to hold a lock: at first by one attempt after the other, and once more by a count. One
 * for each client; the lock is an argument. See {@link LockEngine} for the invariants.
 */
final class Entries {

    private static final long REENTRY_PAUSE_NANOS = 10_000_000;
    /** For how many nanoseconds there are to be tokens when Redis has been asked for a lease. */
    private static final long TOKEN_NANOS = 50_000;

    private static final int TOKEN_SPINS = 10_000;
    /** At least so many times the clock is read while the next microsecond is waited for. */
    private static final int TIME_SPINS = 1_000;

    private final Clock clock;
    private final Settings settings;
    private final Redis redis;
    private final MonitoredRedis monitored;
    private final UnavailableMessages unavailable;
    private final Holds holds;
    private final Owners owners;
    private final Attempts attempts;
    private final Losses losses;
    private final Watchdog watchdog;
    private final Handoff handoff;
    private final Residences residences;
    private final LocalQueue localQueue;
    private final Exits exits;
    private final Acquisitions acquisitions;
    private final EventNotifier events;

    Entries(
            RedisAccess access,
            WaitingParts parts,
            Redis redis,
            Holds holds,
            Owners owners,
            Acquisitions acquisitions,
            Exits exits,
            EventNotifier events) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.redis = redis;
        this.monitored = access.monitored();
        this.unavailable = access.unavailable();
        this.holds = holds;
        this.owners = owners;
        this.attempts = parts.attempts();
        this.losses = parts.losses();
        this.watchdog = parts.watchdog();
        this.handoff = parts.handoff();
        this.residences = parts.residences();
        this.localQueue = parts.localQueue();
        this.exits = exits;
        this.acquisitions = acquisitions;
        this.events = events;
    }

    /**
     * Counts a re-entry without a request, if the caller's hold is sure to last as long as the caller wants; null if
     * Redis has to be asked.
     */
    @Nullable
    Hold enteredHere(LockObject lock, long leaseMillis, boolean renewed) {
        if (lock.residence != null) {
            return enteredResidence(lock, lock.residence, leaseMillis, renewed);
        }
        if (!lock.own.localReentry()) {
            return null;
        }
        Hold hold = hold(lock);
        if (hold == null || !hold.covers(clock.nanoTime(), leaseMillis, renewed)) {
            return null;
        }
        return again(hold, leaseMillis, renewed);
    }

    private static Hold again(Hold hold, long leaseMillis, boolean renewed) {
        checkCount(hold);
        hold.reentered(leaseMillis, renewed, hold.nextRenewalNanos());
        return hold;
    }

    /** As above, or acquires the lock without a request if this client keeps it; null if that is not possible. */
    private @Nullable Hold enteredResidence(LockObject lock, Residence residence, long leaseMillis, boolean renewed) {
        LocalHold held = residence.heldBy(Thread.currentThread());
        if (held != null) {
            return held.covers(clock.nanoTime(), leaseMillis, renewed) ? again(held, leaseMillis, renewed) : null;
        }
        Hold kept = residence.lease();
        if (!isForResidence(lock, leaseMillis, renewed) || kept == null) {
            return null;
        }
        StackSpace.ensureLocal();
        long began = clock.nanoTime();
        // Before the turn: whoever found this with the turn would have to give the lock up when that ends.
        if (residences.isOver(residence, kept, began, true) || !residence.tryTurn()) {
            return null;
        }
        boolean done = false;
        try {
            Owner caller = owners.caller();
            Hold other = holds.get(lock.keys, caller);
            if (other == null || other.isLost()) {
                Hold lease = residence.lease();
                LocalHold local = lease == null || lease.renewedMillis() < leaseMillis || !losses.isValid(lease, began)
                        ? null
                        : takeInTime(residence, lease, caller, began, other);
                if (local != null) {
                    done = true;
                    begun(residence, local);
                    if (events.isHeard()) {
                        events.acquired(lock.keys, local, began, events.begun(lock.keys));
                    }
                    return local;
                }
            }
            return null;
        } finally {
            if (!done) {
                residence.endTurn();
                residences.turnEnded(residence);
            }
        }
    }

    /** Whether a call wants what a residence can give. A lease of its own it cannot. */
    private static boolean isForResidence(LockObject lock, long leaseMillis, boolean renewed) {
        return renewed && leaseMillis == lock.own.leaseMillis();
    }

    /**
     * What follows once the calling thread has the lock: it has lost it if its lease was lost meanwhile, and those are
     * answered who try it. An error leaves it to the watchdog.
     */
    private void begun(Residence residence, LocalHold local) {
        boolean done = false;
        try {
            losses.begun(local);
            residences.answerTries(residence);
            done = true;
        } finally {
            if (!done) {
                strand(local);
            }
        }
    }

    private void strand(Hold hold) {
        hold.stranded = true;
        watchdog.stranded = true;
        watchdog.wakeAt(0);
    }

    /**
     * Makes the calling thread, which has the turn, the holder, if the lease can be relied upon, is renewed for as long
     * as wanted, and may be kept.
     */
    private @Nullable LocalHold take(
            Residence residence, @Nullable Hold lease, long leaseMillis, Owner caller, @Nullable Hold below, long now) {
        if (lease == null
                || lease.renewedMillis() < leaseMillis
                || !losses.isValid(lease, now)
                || residences.isOver(residence, lease, now, true)) {
            return null;
        }
        return takeInTime(residence, lease, caller, now, below);
    }

    /**
     * Makes the calling thread, which has the turn, the holder. Waits for the microsecond of the next token, if time
     * alone brings it.
     */
    private @Nullable LocalHold takeInTime(
            Residence residence, Hold lease, Owner caller, long now, @Nullable Hold below) {
        LocalHold local = residence.take(lease, caller, now, below);
        for (int i = 0; local == null && i < TIME_SPINS && lease.isOpen() && residence.givesTokensByTime(lease); i++) {
            Thread.onSpinWait();
            local = residence.take(lease, caller, clock.nanoTime(), below);
        }
        return local;
    }

    /** The calling thread's hold, valid or lost; null if there is none. */
    @Nullable
    Hold hold(LockObject lock) {
        Hold local = lock.residence == null
                ? residences.heldBy(lock.keys, Thread.currentThread())
                : lock.residence.heldBy(Thread.currentThread());
        return local == null ? holds.get(lock.keys, owners.caller()) : local;
    }

    private static void checkCount(Hold hold) {
        if (hold.count() == Integer.MAX_VALUE) {
            throw new Error("Maximum lock count exceeded");
        }
    }

    /** Acquires for the calling thread with a request, or enters once more. Null if the lock was busy. */
    @Nullable
    Hold acquired(LockObject lock, WaitLimit limit, long leaseMillis, boolean renewed) throws InterruptedException {
        try {
            throwIfInterrupted(lock, limit);
            Hold held = rescued(lock);
            if (held != null && losses.isValid(held) && reenter(lock, held, limit, leaseMillis, renewed)) {
                return held;
            }
            Attempt.Request request = new Attempt.Request(leaseMillis, renewed, lock.fair, lock.own.maxHoldMillis());
            if (lock.residence != null && isForResidence(lock, leaseMillis, renewed)) {
                return events.isHeard()
                        ? acquireHeard(lock, lock.residence, request, limit, held)
                        : acquireUnder(lock, lock.residence, request, limit, held);
            }
            return events.isHeard()
                    ? acquireHeard(lock, owners.caller(), request, limit, held)
                    : acquireAnew(lock, owners.caller(), request, limit, held);
        } finally {
            limit.restore();
        }
    }

    /** Acquires for a handle, for which the calling thread waits. Null if the lock was busy. */
    @Nullable
    Hold acquire(LockObject lock, HandleOwner owner, WaitLimit limit, boolean renewed) throws InterruptedException {
        owner.waits();
        try {
            throwIfInterrupted(lock, limit);
            Attempt.Request request =
                    new Attempt.Request(lock.own.leaseMillis(), renewed, lock.fair, lock.own.maxHoldMillis());
            return events.isHeard()
                    ? acquireHeard(lock, owner, request, limit, null)
                    : acquireAnew(lock, owner, request, limit, null);
        } finally {
            owner.rests();
            limit.restore();
        }
    }

    private void throwIfInterrupted(LockObject lock, WaitLimit limit) throws InterruptedException {
        if (limit.interrupted()) {
            events.notAcquired(lock.keys, clock, 0, LockNotAcquired.Outcome.INTERRUPTED);
            limit.throwIfInterrupted();
        }
    }

    /** As {@link #acquireAnew}, and tells the listeners what came of it. */
    private @Nullable Hold acquireHeard(
            LockObject lock, Owner owner, Attempt.Request request, WaitLimit limit, @Nullable Hold lost)
            throws InterruptedException {
        long began = clock.nanoTime();
        LockListener.Acquiring call = events.begun(lock.keys);
        LockNotAcquired.Outcome outcome = LockNotAcquired.Outcome.FAILED;
        Hold hold = null;
        try {
            hold = owner instanceof Residence residence
                    ? acquireUnder(lock, residence, request, limit, lost)
                    : acquireAnew(lock, owner, request, limit, lost);
            outcome = LockNotAcquired.Outcome.BUSY;
        } catch (InterruptedException e) {
            outcome = LockNotAcquired.Outcome.INTERRUPTED;
            throw e;
        } finally {
            // Here nothing may throw: the lock may be held.
            if (hold != null) {
                events.acquired(lock.keys, hold, began, call);
            } else {
                events.notAcquired(lock.keys, clock, began, outcome, call);
            }
        }
        return hold;
    }

    /** Acquires a lock that the client keeps, or wants to keep, for the calling thread. Null if it was busy. */
    private @Nullable Hold acquireUnder(
            LockObject lock, Residence residence, Attempt.Request request, WaitLimit limit, @Nullable Hold lost)
            throws InterruptedException {
        long began = clock.nanoTime();
        StackSpace.ensure();
        boolean waited = false;
        if (!limit.waits()) {
            Residence.Found found = residence.tryTurnOrSay(settings.commandTimeoutNanos());
            if (found != Residence.Found.TURN) {
                // A thread that waits in Redis for the lock does not have it, and this one does not wait behind it.
                return found == Residence.Found.HOLDER
                        ? null
                        : acquireAnew(lock, owners.caller(), request, limit, lost);
            }
        } else if (!residence.tryTurn()) {
            waited = true;
            if (!awaitTurn(residence, limit)) {
                checkOutage(lock, residence, false, limit, began);
                return null;
            }
        }
        boolean done = false;
        try {
            if (waited) {
                checkOutage(lock, residence, true, limit, began);
            }
            LocalHold local = takeConfirmed(residence, residence.lease(), request.leaseMillis(), limit, lost);
            while (local == null) {
                // It is not there, or may not be kept.
                Hold over = residence.lease();
                if (over != null) {
                    exits.giveUp(lock, residence, over, limit);
                }
                residences.answerTries(residence);
                if (!limit.waits() && localQueue.isInUse(lock.keys.lock())) {
                    // A release was not answered yet. Under the same name, this attempt could overtake it.
                    return acquireAnew(lock, owners.caller(), request, limit, lost);
                }
                Hold lease = lease(lock, residence, request, limit);
                if (lease == null) {
                    return null;
                }
                local = residence.take(lease, owners.caller(), clock.nanoTime(), lost);
                if (local != null) {
                    local.asked();
                }
            }
            done = true;
            begun(residence, local);
            return local;
        } finally {
            residence.entered();
            if (!done) {
                residence.endTurn();
                residences.turnEnded(residence);
            }
        }
    }

    private boolean awaitTurn(Residence residence, WaitLimit limit) throws InterruptedException {
        boolean turn = false;
        try {
            turn = residence.awaitTurn(limit);
            return turn;
        } catch (InterruptedException e) {
            limit.thrown();
            throw e;
        } finally {
            if (!turn) {
                // Who ended its turn may have left it to this thread to give the lock up.
                residences.turnEnded(residence);
            }
        }
    }

    /**
     * Throws if what kept the thread waiting was an outage: for as long as it had time, or for longer than it bears.
     * The thread that had the turn met it, and knew of no holder.
     */
    private void checkOutage(LockObject lock, Residence residence, boolean turn, WaitLimit limit, long began) {
        if (residence.lease() != null) {
            return;
        }
        Availability server = monitored.of(lock.keys.lock());
        long now = clock.nanoTime();
        long age = server.age(now);
        if (age > 0 && (!turn || limit.isPast(age))) {
            throw unavailable.notAcquired(lock.keys, now - began, false, server.cause());
        }
    }

    /** As {@link #take}; asks Redis if there is no token else, or no lease for as long as wanted. */
    private @Nullable LocalHold takeConfirmed(
            Residence residence, @Nullable Hold lease, long leaseMillis, WaitLimit limit, @Nullable Hold lost) {
        LocalHold local = take(residence, lease, leaseMillis, owners.caller(), lost, clock.nanoTime());
        if (local != null
                || lease == null
                || !losses.isValid(lease)
                || residences.isOver(residence, lease, clock.nanoTime(), true)) {
            return local;
        }
        // So that there are tokens afterwards: one for each microsecond.
        long from = residence.nextTokenNanos(lease) + TOKEN_NANOS;
        for (int i = 0; i < TOKEN_SPINS && clock.nanoTime() < from; i++) {
            Thread.onSpinWait();
        }
        confirm(lease, limit, Math.max(lease.renewedMillis(), leaseMillis));
        LocalHold confirmed = take(residence, lease, leaseMillis, owners.caller(), lost, clock.nanoTime());
        if (confirmed != null) {
            confirmed.asked();
        }
        return confirmed;
    }

    /** Asks whether a lease is there, and extends it; from then on it is renewed for as long. */
    private void confirm(Hold lease, WaitLimit limit, long millis) {
        boolean outlasts = lease.mayOutlast();
        lease.asks(millis);
        long sent = clock.nanoTime();
        long timeout = Math.min(
                limit.timeoutNanos(sent, settings.commandTimeoutNanos()), Math.max(1, lease.deadlineNanos() - sent));
        lease.unanswered(true);
        try {
            if (Answer.isKept(monitored.run(Scripts.reenter(lease, 0, millis).with(settings.acks()), timeout))) {
                if (lease.extend(clock.nanoTime(), sent, millis)) {
                    lease.unanswered(false);
                    lease.isTold(outlasts);
                    lease.renewedFor(millis);
                }
            } else {
                losses.lose(lease, LockLost.Reason.TAKEN);
            }
        } catch (RedisException e) {
            // The acquisition that follows meets it as well.
        }
    }

    private @Nullable Hold lease(LockObject lock, Residence residence, Attempt.Request request, WaitLimit limit)
            throws InterruptedException {
        residence.waits();
        try {
            Hold lease = acquireAnew(lock, residence, request, limit, null);
            if (lease != null) {
                begin(residence, lease);
            }
            return lease;
        } finally {
            residence.rests();
        }
    }

    private void begin(Residence residence, Hold lease) {
        boolean begun = false;
        try {
            residence.begin(lease);
            // Not earlier: before, a walk finds no lease to look at.
            watchdog.wakeAt(lease.acquiredNanos + Timing.heartbeatMillis(lease.leaseMillis()) * 1_000_000);
            begun = true;
        } finally {
            if (!begun) {
                strand(lease);
            }
        }
        residences.begun();
    }

    /**
     * Acquires a lock that the thread does not hold, with one attempt after the other while the only obstacle is that
     * too few replicas confirm the grant. Null if the lock was busy.
     */
    private @Nullable Hold acquireAnew(
            LockObject lock, Owner owner, Attempt.Request request, WaitLimit limit, @Nullable Hold lost)
            throws InterruptedException {
        long began = clock.nanoTime();
        Backoff backoff = null;
        while (true) {
            // Each a new one: what gives an earlier one back may run late, and must not touch this.
            Attempt attempt = attempts.make(lock.keys, owner, request, limit);
            try {
                attempts.begin(attempt);
                Acquisitions.Acquisition acquisition =
                        acquisitions.of(attempt, limit, lost, !lock.crowded && redis.hasLines());
                Hold hold = acquisition.contend();
                lock.crowded = !acquisition.stayedOnFastPath();
                if (owner instanceof Residence residence) {
                    residence.foundOthers(!acquisition.tookFree());
                }
                MemoryEdge.publish();
                return hold;
            } catch (RedisException.Unacknowledged e) {
                long now = clock.nanoTime();
                if (!limit.waits()
                        || isTooLate(
                                limit, monitored.replication(lock.keys.lock()).age(now), now)) {
                    throw unavailable.notAcknowledged(
                            lock.keys,
                            now - began,
                            monitored.of(lock.keys.lock()).silence(now) > 0,
                            e);
                }
                backoff = backoff == null ? Backoff.ofRequests() : backoff;
                clock.pause(lock, Math.min(backoff.next(), limit.remaining(now)));
                limit.throwIfInterrupted();
                monitored.retried();
            } catch (Error e) {
                // First without a method call, for which there may be no stack space.
                attempt.stranded = true;
                watchdog.stranded = true;
                watchdog.wakeAt(0);
                throw e;
            }
        }
    }

    private boolean isTooLate(WaitLimit limit, long outageNanos, long now) {
        return limit.isTimed() ? limit.remaining(now) <= 0 : limit.isPast(outageNanos);
    }

    /** Counts a re-entry; false if the hold turned out to be lost, so that the caller has to acquire the lock anew. */
    private boolean reenter(LockObject lock, Hold hold, WaitLimit limit, long leaseMillis, boolean renewed)
            throws InterruptedException {
        long began = clock.nanoTime();
        if (hold.isLocal() && hold.covers(began, leaseMillis, renewed)) {
            again(hold, leaseMillis, renewed);
            return true;
        }
        checkCount(hold);
        Hold inRedis = hold.inRedis();
        int before = lock.own.localReentry() || hold.isLocal() ? 0 : hold.count();
        boolean outlasts = inRedis.mayOutlast();
        while (losses.isValid(hold)) {
            boolean outlastsByNow = inRedis.mayOutlast();
            boolean unanswered = inRedis.isUnanswered();
            long sent = clock.nanoTime();
            long timeout = Math.min(
                    limit.timeoutNanos(sent, settings.commandTimeoutNanos()),
                    Math.max(1, inRedis.deadlineNanos() - sent));
            long lease = inRedis.leaseAt(sent, leaseMillis);
            inRedis.asks(lease);
            Call call = Scripts.reenter(inRedis, before, lease);
            // Before it is sent: the deadline may pass before the answer does not come.
            inRedis.unanswered(true);
            try {
                Reply reply = monitored.run(call.with(settings.acks()), timeout);
                if (!Answer.isKept(reply)) {
                    losses.lose(inRedis, LockLost.Reason.TAKEN);
                } else if (inRedis.extend(clock.nanoTime(), sent, lease)) {
                    inRedis.unanswered(false);
                    // What this has given lasts longer than what the tries before may have.
                    inRedis.isTold(outlasts);
                    if (renewed) {
                        inRedis.renewedFor(leaseMillis);
                    }
                    hold.reentered(leaseMillis, renewed, sent + Timing.renewalNanos(lease));
                    watchdog.wakeAt(hold.nextRenewalNanos());
                    return true;
                }
            } catch (RedisException e) {
                long now = clock.nanoTime();
                boolean hopeless = e instanceof RedisException.Refused refused && !refused.passing();
                boolean unacknowledged = e instanceof RedisException.Unacknowledged;
                long outage = unacknowledged
                        ? monitored.replication(lock.keys.lock()).age(now)
                        : monitored.of(lock.keys.lock()).age(call, now);
                if (hopeless) {
                    // Redis has answered, and given nothing; not so to earlier requests, perhaps.
                    inRedis.unanswered(unanswered);
                    inRedis.isTold(outlastsByNow);
                }
                if (hopeless || isTooLate(limit, outage, now)) {
                    throw unavailable.toDo(
                            lock.keys,
                            "was not entered once more",
                            "The calling thread still holds it, as often as before.",
                            now - began,
                            e);
                }
                limit.throwIfInterrupted();
                clock.pause(lock, REENTRY_PAUSE_NANOS);
                monitored.retried();
            }
        }
        return false;
    }

    /**
     * The calling thread's hold, or null. If an error stranded the hold's release, hands the release to the watchdog
     * and returns the lost hold that is left, if any.
     */
    @Nullable
    Hold rescued(LockObject lock) {
        Hold hold = hold(lock);
        if (hold != null && hold.stranded) {
            handoff.rescue(hold);
            return hold(lock);
        }
        return hold;
    }

    /** Tells the listeners of a hold that was taken with others. */
    void taken(LockObject lock, Hold hold, long beganNanos) {
        MemoryEdge.publish();
        if (events.isHeard()) {
            events.acquired(lock.keys, hold, beganNanos);
        }
    }

    /** Tells the listeners that the lock was busy, so that none of several was taken. */
    void notTaken(LockObject lock, long beganNanos) {
        events.notAcquired(lock.keys, clock, beganNanos, LockNotAcquired.Outcome.BUSY);
    }

    /**
     * Ends a try of several locks whose only request was not answered: returns if Redis has answered others meanwhile,
     * so that only the time was too short, and throws otherwise.
     *
     * @param timed whether the time was the caller's
     */
    void notAnswered(LockObject lock, long beganNanos, boolean timed) {
        Availability server = monitored.of(lock.keys.lock());
        long now = clock.nanoTime();
        boolean known = timed && server.answeredSince(beganNanos) && server.age(now) == 0;
        events.notAcquired(
                lock.keys, clock, beganNanos, known ? LockNotAcquired.Outcome.BUSY : LockNotAcquired.Outcome.FAILED);
        if (!known) {
            throw unavailable.notAcquired(lock.keys, now - beganNanos, true, server.cause());
        }
    }
}
