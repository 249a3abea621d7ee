package io.github.redislocks.residency;

import io.github.redislocks.LockGivenUp;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.engine.LockEngine;
import io.github.redislocks.health.Availability;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import org.jspecify.annotations.Nullable;

/**
 * A lock object of a client that can keep locks. If the object was made with a residency, a thread acquires the lock by
 * taking the turn of the {@link Residence}; while the client has the lease, this needs no request. A call that needs
 * its own hold in Redis acquires it as for any other lock, and waits until the client has given the lease up.
 */
final class KeptLock extends ThreadLock {

    /** The time for which one confirmation of the lease should provide tokens. */
    private static final long TOKEN_NANOS = 50_000;

    private static final int TOKEN_SPINS = 10_000;
    /** The most readings of the clock in a wait for the next microsecond. */
    private static final int TIME_SPINS = 1_000;

    KeptLock(
            LockEngine engine,
            LockKeys keys,
            boolean fair,
            Settings settings,
            Residences all,
            @Nullable Residence residence) {
        super(engine, keys, fair, settings, all, residence);
    }

    @Override
    protected @Nullable Held enterHere() {
        ThreadHold local = local();
        if (local != null) {
            return local.covers(clock.nanoTime(), leaseMillis(), isRenewed()) ? again(local) : null;
        }
        return kept == null ? super.enterHere() : acquireHere(kept);
    }

    private static ThreadHold again(ThreadHold local) {
        checkCount(local);
        local.reentered();
        return local;
    }

    /** Acquires the lock without a request; null if that is not possible. */
    private @Nullable ThreadHold acquireHere(Residence residence) {
        Hold present = residence.lease();
        if (present == null) {
            return null;
        }
        long began = clock.nanoTime();
        // Check before taking the turn whether the lease must be given up. A thread that has the turn would have to
        // give the lease up, and this method must not send a request.
        if (ends.whyOver(residence, present, began, true) != null || !residence.turn.tryTake()) {
            return null;
        }
        ThreadHold local = null;
        boolean done = false;
        try {
            Owner caller = all.owners.caller();
            if (mayEnter(all.holds.get(keys(), caller), all.threadLosses.of(keys(), caller))) {
                local = take(residence, residence.lease(), caller, began);
            }
            if (local != null) {
                begun(residence, local);
                done = true;
            }
        } finally {
            if (!done) {
                leave(residence, local);
            }
        }
        if (local != null && isHeard()) {
            all.events.acquired(keys(), local, began, all.events.begun(keys()));
        }
        return local;
    }

    /** Returns true if neither a hold nor a loss of the calling thread forbids it to acquire the lock. */
    private boolean mayEnter(@Nullable Hold hold, @Nullable ThreadHold lost) {
        return (hold == null && lost == null) || ((hold == null || hold.isLost()) && mayRelock());
    }

    @Override
    protected @Nullable Held acquire(WaitLimit limit) throws InterruptedException {
        if (!all.any()) {
            return super.acquire(limit);
        }
        try {
            throwIfInterrupted(limit);
            Held held = rescued();
            if (held instanceof ThreadHold local && enteredAgain(local, limit)) {
                return local;
            }
            if (held instanceof ThreadHold && !mayRelock()) {
                throw Losses.exception(held);
            }
            Hold hold = held instanceof Hold own ? own : held == null ? null : hold();
            if (kept == null || !mayEnter(hold, null)) {
                return super.acquire(limit);
            }
            return acquireKept(kept, limit, hold);
        } finally {
            limit.restore();
        }
    }

    private @Nullable Held acquireKept(Residence residence, WaitLimit limit, @Nullable Hold lost)
            throws InterruptedException {
        return isHeard() ? heard(() -> acquire(residence, limit, lost)) : acquire(residence, limit, lost);
    }

    /** Re-enters the lock; returns false if the thread has lost it. */
    private boolean enteredAgain(ThreadHold local, WaitLimit limit) throws InterruptedException {
        long now = clock.nanoTime();
        if (!all.threadLosses.isValid(local, now)) {
            return false;
        }
        if (!local.covers(now, leaseMillis(), isRenewed())) {
            checkCount(local);
            if (!prolong(local.lease, limit)) {
                isValid(local);
                return false;
            }
        }
        again(local);
        return true;
    }

    /** Acquires the lock for the calling thread by the turn of the residence; null if the lock was busy. */
    private @Nullable Held acquire(Residence residence, WaitLimit limit, @Nullable Hold lost)
            throws InterruptedException {
        long began = clock.nanoTime();
        StackSpace.ensure();
        boolean waited = false;
        if (!limit.waits()) {
            Residence.Found found =
                    residence.tryTurnOrSay(limit.timeoutNanos(began, all.settings.commandTimeoutNanos()));
            if (found != Residence.Found.TURN) {
                // If a thread has the lock, the try fails. Otherwise the thread that has the turn may itself be waiting
                // in Redis, so this try asks Redis instead of waiting for that thread.
                return found == Residence.Found.HOLDER ? null : attempt(all.owners.caller(), limit, lost);
            }
        } else if (!residence.turn.tryTake()) {
            waited = true;
            if (!awaitTurn(residence, limit)) {
                checkOutage(residence, false, limit, began);
                return null;
            }
        }
        ThreadHold local = null;
        boolean done = false;
        try {
            if (waited) {
                checkOutage(residence, true, limit, began);
            }
            local = takeConfirmed(residence, residence.lease(), limit);
            while (local == null) {
                // There is no lease, or the lease must be given up.
                Hold over = residence.lease();
                if (over != null) {
                    giveUp(residence, over, limit);
                }
                ends.answerTries(residence);
                if (!limit.waits() && all.localQueue.isInUse(keys().lock())) {
                    // Another attempt or hold of this client has the local turn. It may be a lease whose release has
                    // not been answered yet, and a request of the same owner could overtake that release on its way to
                    // Redis. So ask with this thread as the owner, not the residence.
                    return attempt(all.owners.caller(), limit, lost);
                }
                Hold lease = lease(residence, limit);
                if (lease == null) {
                    return null;
                }
                local = residence.take(lease, all.owners.caller(), clock.nanoTime());
                if (local != null) {
                    local.asked();
                }
            }
            begun(residence, local);
            done = true;
            return local;
        } finally {
            residence.turn.entered();
            if (!done) {
                leave(residence, local);
            }
        }
    }

    private boolean awaitTurn(Residence residence, WaitLimit limit) throws InterruptedException {
        boolean turn = false;
        try {
            turn = residence.turn.await(limit);
            return turn;
        } catch (InterruptedException e) {
            limit.thrown();
            throw e;
        } finally {
            if (!turn) {
                // The last thread that had the turn may have kept the lease only because this thread was waiting. So
                // decide again whether to give the lease up.
                ends.turnEnded(residence);
            }
        }
    }

    /**
     * Throws if there is an outage, and either the outage is older than {@code retryFor} or the calling thread's time
     * is over. Does nothing if a thread of this client has the lock: then the calling thread waited for that thread.
     */
    private void checkOutage(Residence residence, boolean turn, WaitLimit limit, long began) {
        Hold lease = residence.lease();
        if (residence.holding() != null || (lease != null && lease.isOpen())) {
            return;
        }
        Availability server = all.monitored.of(keys().lock());
        long now = clock.nanoTime();
        long age = server.age(now);
        if (age > 0 && (!turn || limit.isPast(age))) {
            throw all.unavailable.notAcquired(keys(), now - began, false, server.cause());
        }
    }

    /**
     * Gives the lock to the calling thread, which has the turn. Returns null if the lease is not valid, or must be
     * given up. If there is no token, or the lease is too short, first makes Redis confirm the lease.
     */
    private @Nullable ThreadHold takeConfirmed(Residence residence, @Nullable Hold lease, WaitLimit limit) {
        for (boolean asked = false; ; asked = true) {
            long now = clock.nanoTime();
            if (lease == null || ends.whyOver(residence, lease, now, true) != null) {
                return null;
            }
            ThreadHold local = take(residence, lease, all.owners.caller(), now);
            if (local != null && asked) {
                local.asked();
            }
            if (local != null || asked || !all.losses.isValid(lease)) {
                return local;
            }
            awaitTokens(residence, lease);
            confirm(lease, limit, Math.max(lease.renewedMillis(), leaseMillis()));
        }
    }

    /**
     * Waits until a confirmation of the lease will provide enough tokens for TOKEN_NANOS. There is one token for each
     * microsecond of the lease.
     */
    private void awaitTokens(Residence residence, Hold lease) {
        Usage use = residence.usage(lease);
        long from = use == null ? 0 : use.nextTokenNanos() + TOKEN_NANOS;
        for (int i = 0; i < TOKEN_SPINS && clock.nanoTime() < from; i++) {
            Thread.onSpinWait();
        }
    }

    /**
     * Gives the lock to the calling thread, which has the turn. Returns null if the lease is not valid, or is renewed
     * for a shorter time than wanted. If the next token needs only time and no request, waits for the token, about a
     * microsecond.
     */
    private @Nullable ThreadHold take(Residence residence, @Nullable Hold lease, Owner caller, long now) {
        if (lease == null || lease.renewedMillis() < leaseMillis() || !all.losses.isValid(lease, now)) {
            return null;
        }
        ThreadHold local = residence.take(lease, caller, now);
        Usage use = residence.usage(lease);
        for (int i = 0;
                local == null && i < TIME_SPINS && lease.isOpen() && use != null && use.givesTokensByTime();
                i++) {
            Thread.onSpinWait();
            local = residence.take(lease, caller, clock.nanoTime());
        }
        return local;
    }

    /**
     * Makes Redis confirm the lease and extend it to {@code millis}. From then on each renewal extends the lease to
     * that time.
     */
    private void confirm(Hold lease, WaitLimit limit, long millis) {
        long now = clock.nanoTime();
        if (extend(lease, millis, now + limit.timeoutNanos(now, all.settings.commandTimeoutNanos()))) {
            lease.renewedFor(millis);
        }
    }

    private @Nullable Hold lease(Residence residence, WaitLimit limit) throws InterruptedException {
        residence.waits();
        try {
            Hold lease = attempt(residence, limit, null);
            if (lease != null) {
                residence.begin(lease);
                all.begun(lease);
            }
            return lease;
        } finally {
            residence.rests();
        }
    }

    /**
     * Called when the calling thread has got the lock. Declares the hold lost if its lease was lost meanwhile, and
     * answers the tries of other clients.
     */
    private void begun(Residence residence, ThreadHold local) {
        // Merge the thread's records of losses before this hold can be lost, since a loss adds a record.
        all.threadLosses.merge(keys(), local.owner);
        all.threadLosses.begun(local);
        ends.answerTries(residence);
    }

    /**
     * Releases a lease under which the calling thread, which has the turn, cannot get the lock. Waits for the answer of
     * Redis; if Redis does not answer in time, the release goes on in the background.
     */
    private void giveUp(Residence residence, Hold lease, WaitLimit limit) {
        if (ends.continued(lease)) {
            return;
        }
        GivingUp event = ends.event(residence, lease, LockGivenUp.Reason.NO_TOKEN);
        long now = clock.nanoTime();
        if (!endInRedis(lease, now, now + limit.timeoutNanos(now, all.settings.commandTimeoutNanos()))) {
            // The lease was lost before its release, while no thread had the lock. Nothing was given up.
            all.losses.ended(lease);
            event = null;
        }
        residence.ended(lease);
        ends.publish(event);
    }
}
