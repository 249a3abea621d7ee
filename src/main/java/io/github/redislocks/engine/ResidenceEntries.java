package io.github.redislocks.engine;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.Availability;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LocalHold;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Owners;
import io.github.redislocks.state.Residence;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.LocalQueue;
import io.github.redislocks.waiting.Residences;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.watchdog.Watchdog;
import org.jspecify.annotations.Nullable;

/**
 * How a thread comes to hold a lock that its client keeps, or wants to keep: by the turn of the {@link Residence}, and
 * without a request if the client has the lock in Redis. One for each client; the lock is an argument.
 */
final class ResidenceEntries {

    /** For how many nanoseconds there are to be tokens when Redis has been asked for a lease. */
    private static final long TOKEN_NANOS = 50_000;

    private static final int TOKEN_SPINS = 10_000;
    /** At least so many times the clock is read while the next microsecond is waited for. */
    private static final int TIME_SPINS = 1_000;

    private final Clock clock;
    private final Settings settings;
    private final MonitoredRedis monitored;
    private final UnavailableMessages unavailable;
    private final Holds holds;
    private final Owners owners;
    private final Losses losses;
    private final Watchdog watchdog;
    private final Handoff handoff;
    private final Residences residences;
    private final LocalQueue localQueue;
    private final Exits exits;
    private final AttemptLoop attempts;
    private final EventNotifier events;

    ResidenceEntries(
            RedisAccess access,
            WaitingParts parts,
            Holds holds,
            Owners owners,
            AttemptLoop attempts,
            Exits exits,
            EventNotifier events) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.monitored = access.monitored();
        this.unavailable = access.unavailable();
        this.holds = holds;
        this.owners = owners;
        this.losses = parts.losses();
        this.watchdog = parts.watchdog();
        this.handoff = parts.handoff();
        this.residences = parts.residences();
        this.localQueue = parts.localQueue();
        this.exits = exits;
        this.attempts = attempts;
        this.events = events;
    }

    /** Acquires the lock without a request if this client keeps it; null if that is not possible. */
    @Nullable
    Hold enteredHere(LockObject lock, Residence residence, long leaseMillis, boolean renewed) {
        Hold kept = residence.lease();
        if (!isWanted(lock, leaseMillis, renewed) || kept == null) {
            return null;
        }
        StackSpace.ensureLocal();
        long began = clock.nanoTime();
        // Before the turn: whoever found this with the turn would have to give the lock up when that ends.
        if (residences.whyOver(residence, kept, began, true) != null || !residence.tryTurn()) {
            return null;
        }
        boolean done = false;
        try {
            Owner caller = owners.caller();
            Hold other = holds.get(lock.keys, caller);
            if (other == null || (other.isLost() && lock.own.relockAfterLoss())) {
                Hold lease = residence.lease();
                LocalHold local = lease == null || lease.renewedMillis() < leaseMillis || !losses.isValid(lease, began)
                        ? null
                        : takeInTime(residence, lease, caller, began, below(other));
                if (local != null) {
                    done = true;
                    begun(residence, local, other);
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

    /**
     * What is to stand below a new hold of a thread that has lost one: one record of losses is enough, unless that one
     * is not told yet, since the watchdog finds it by its record.
     */
    private static @Nullable Hold below(@Nullable Hold lost) {
        return lost == null || lost.below == null || lost.isUntold() ? lost : lost.below;
    }

    /** Lets the record below a lost hold stand for that too, since the thread has a new one. */
    @SuppressWarnings("ReferenceEquality")
    private void merge(LocalHold local, @Nullable Hold lost) {
        if (lost != null && lost.below != null && local.below == lost.below) {
            holds.remove(lost);
            lost.below.standsFor(lost);
        }
    }

    /** Whether a call wants what a residence can give. A lease of its own it cannot. */
    static boolean isWanted(LockObject lock, long leaseMillis, boolean renewed) {
        return renewed && leaseMillis == lock.own.leaseMillis();
    }

    /** Acquires a lock that the client keeps, or wants to keep, for the calling thread. Null if it was busy. */
    @Nullable
    Hold acquire(LockObject lock, Residence residence, Attempt.Request request, WaitLimit limit, @Nullable Hold lost)
            throws InterruptedException {
        long began = clock.nanoTime();
        StackSpace.ensure();
        boolean waited = false;
        if (!limit.waits()) {
            Residence.Found found = residence.tryTurnOrSay(limit.timeoutNanos(began, settings.commandTimeoutNanos()));
            if (found != Residence.Found.TURN) {
                // A thread that waits in Redis for the lock does not have it, and this one does not wait behind it.
                return found == Residence.Found.HOLDER
                        ? null
                        : attempts.acquire(lock, owners.caller(), request, limit, lost);
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
            Hold below = below(lost);
            LocalHold local = takeConfirmed(residence, residence.lease(), request.leaseMillis(), limit, below);
            while (local == null) {
                // It is not there, or may not be kept.
                Hold over = residence.lease();
                if (over != null) {
                    exits.giveUp(lock, residence, over, limit);
                }
                residences.answerTries(residence);
                if (!limit.waits() && localQueue.isInUse(lock.keys.lock())) {
                    // A release was not answered yet. Under the same name, this attempt could overtake it.
                    return attempts.acquire(lock, owners.caller(), request, limit, lost);
                }
                Hold lease = lease(lock, residence, request, limit);
                if (lease == null) {
                    return null;
                }
                local = residence.take(lease, owners.caller(), clock.nanoTime(), below);
                if (local != null) {
                    local.asked();
                }
            }
            done = true;
            begun(residence, local, lost);
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
            Residence residence, @Nullable Hold lease, long leaseMillis, WaitLimit limit, @Nullable Hold below) {
        LocalHold local = take(residence, lease, leaseMillis, owners.caller(), below, clock.nanoTime());
        if (local != null
                || lease == null
                || !losses.isValid(lease)
                || residences.whyOver(residence, lease, clock.nanoTime(), true) != null) {
            return local;
        }
        // So that there are tokens afterwards: one for each microsecond.
        long from = residence.nextTokenNanos(lease) + TOKEN_NANOS;
        for (int i = 0; i < TOKEN_SPINS && clock.nanoTime() < from; i++) {
            Thread.onSpinWait();
        }
        confirm(lease, limit, Math.max(lease.renewedMillis(), leaseMillis));
        LocalHold confirmed = take(residence, lease, leaseMillis, owners.caller(), below, clock.nanoTime());
        if (confirmed != null) {
            confirmed.asked();
        }
        return confirmed;
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
                || residences.whyOver(residence, lease, now, true) != null) {
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

    /** Asks whether a lease is there, and extends it; from then on it is renewed for as long. */
    private void confirm(Hold lease, WaitLimit limit, long millis) {
        boolean outlasts = lease.mayOutlast();
        lease.asks(millis);
        long sent = clock.nanoTime();
        long timeout = Math.min(limit.timeoutNanos(sent, settings.commandTimeoutNanos()), lease.deadlineNanos() - sent);
        lease.asking(true);
        try {
            Reply reply = monitored.run(Scripts.reenter(lease, 0, millis).with(settings.acks()), timeout);
            if (Answer.isKept(reply)) {
                if (lease.extend(clock.nanoTime(), sent, millis)) {
                    lease.reentryAnswered();
                    lease.isTold(outlasts || reply.resent());
                    lease.renewedFor(millis);
                }
            } else {
                losses.taken(lease);
            }
        } catch (RedisException e) {
            // The acquisition that follows meets it as well.
        }
        losses.endIfProlonged(lease);
    }

    private @Nullable Hold lease(LockObject lock, Residence residence, Attempt.Request request, WaitLimit limit)
            throws InterruptedException {
        residence.waits();
        try {
            Hold lease = attempts.acquire(lock, residence, request, limit, null);
            if (lease != null) {
                begin(residence, lease);
            }
            return lease;
        } finally {
            residence.rests();
        }
    }

    private void begin(Residence residence, Hold lease) {
        try {
            residence.begin(lease);
            // Not earlier: before, a walk finds no lease to look at.
            watchdog.wakeAt(lease.acquiredNanos + Timing.heartbeatMillis(lease.leaseMillis()) * 1_000_000);
        } catch (Throwable e) {
            handoff.strand(lease);
            throw e;
        }
        residences.begun();
    }

    /**
     * What follows once the calling thread has the lock: it has lost it if its lease was lost meanwhile, and those are
     * answered who try it. An error leaves it to the watchdog.
     */
    private void begun(Residence residence, LocalHold local, @Nullable Hold lost) {
        try {
            // First: once this one is lost, too, its record takes the place of the one before.
            merge(local, lost);
            losses.begun(local);
            residences.answerTries(residence);
        } catch (Throwable e) {
            handoff.strand(local);
            throw e;
        }
    }
}
