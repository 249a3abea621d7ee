package io.github.redislocks.residency;

import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockLostException;
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
 * the turn of the {@link Residence}; if the client has the lock in Redis, this needs no request. A call that needs a
 * hold of its own in Redis works as for every other lock, and waits behind the residence.
 */
final class KeptLock extends ThreadLock {

    /** For how many nanoseconds a confirmation of the lease should provide tokens. */
    private static final long TOKEN_NANOS = 50_000;

    private static final int TOKEN_SPINS = 10_000;
    /** How often the clock is read, at most, to wait for the next microsecond. */
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

    /** Acquires the lock without a request if this client keeps it; null if that is not possible. */
    private @Nullable ThreadHold acquireHere(Residence residence) {
        Hold present = residence.lease();
        if (present == null) {
            return null;
        }
        StackSpace.ensureLocal();
        long began = clock.nanoTime();
        // Before taking the turn, look whether the lock has to be given up: a thread that finds this while it has the
        // turn must release the lock, and this method may send no request.
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

    /** Returns true if the present hold or loss of the calling thread lets it acquire the lock. */
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
            if (held instanceof ThreadHold lost) {
                // Call `ended` again: the thread that found the loss may have met an error before it notified the
                // listeners.
                all.threadLosses.ended(lost);
                if (!mayRelock()) {
                    throw Losses.exception(lost);
                }
            }
            Hold hold = held instanceof Hold own ? own : held == null ? null : hold();
            if (kept == null || !mayEnter(hold, null)) {
                return super.acquire(limit);
            }
            if (hold != null) {
                all.losses.ended(hold);
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

    /** Counts a re-entry; false if the thread turned out to have lost the lock. */
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

    /** Acquires a lock that the client keeps, or wants to keep, for the calling thread. Null if it was busy. */
    private @Nullable Held acquire(Residence residence, WaitLimit limit, @Nullable Hold lost)
            throws InterruptedException {
        long began = clock.nanoTime();
        StackSpace.ensure();
        boolean waited = false;
        if (!limit.waits()) {
            Residence.Found found =
                    residence.tryTurnOrSay(limit.timeoutNanos(began, all.settings.commandTimeoutNanos()));
            if (found != Residence.Found.TURN) {
                // Only a holder makes the try fail. The thread that has the turn may itself be waiting in Redis: then
                // this try asks Redis too, instead of waiting behind that thread.
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
                // There is no lease, or it may not be kept any longer.
                Hold over = residence.lease();
                if (over != null) {
                    giveUp(residence, over, limit);
                }
                ends.answerTries(residence);
                if (!limit.waits() && all.localQueue.isInUse(keys().lock())) {
                    // A release of the lease has not been answered yet. A request by the same owner could overtake it
                    // in Redis, so ask for this thread instead of the residence.
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
                // The last owner of the turn may have kept the lease only because this thread was waiting. So decide
                // again whether to give it up.
                ends.turnEnded(residence);
            }
        }
    }

    /**
     * Throws if the thread waited because of an outage, and the outage used up its time limit or has lasted longer than
     * {@code retryFor}. The thread that had the turn met the outage while it asked for the lock, so no thread of this
     * client held the lock.
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
     * Makes the calling thread, which has the turn, the holder. Returns null if the lease is not valid, or may not be
     * kept. Asks Redis first if there is no token, or if the lease is not as long as wanted.
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

    /** Waits until a reply makes enough tokens valid for TOKEN_NANOS: there is one for each microsecond. */
    private void awaitTokens(Residence residence, Hold lease) {
        Usage use = residence.usage(lease);
        long from = use == null ? 0 : use.nextTokenNanos() + TOKEN_NANOS;
        for (int i = 0; i < TOKEN_SPINS && clock.nanoTime() < from; i++) {
            Thread.onSpinWait();
        }
    }

    /**
     * Makes the calling thread, which has the turn, the holder. Returns null if the lease is not valid, or is renewed
     * for a shorter time than wanted. If the next token needs no request, only time, waits for its microsecond.
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

    /** Has Redis confirm a lease and extend it to {@code millis}. From then on it is renewed for that time. */
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
     * Called once the calling thread has the lock. Declares the hold lost if its lease was lost meanwhile, and answers
     * tries.
     */
    private void begun(Residence residence, ThreadHold local) {
        // Merge the records before this hold can be lost, since a loss adds another one.
        all.threadLosses.merge(keys(), local.owner);
        all.threadLosses.begun(local);
        ends.answerTries(residence);
    }

    /**
     * Releases a lease under which the calling thread, which has the turn, cannot become the holder. Returns when Redis
     * has answered; if it does not answer in time, the release goes on in the background.
     */
    private void giveUp(Residence residence, Hold lease, WaitLimit limit) {
        if (ends.continued(lease)) {
            return;
        }
        GivingUp event = ends.event(residence, lease, LockGivenUp.Reason.NO_TOKEN);
        try {
            long now = clock.nanoTime();
            endInRedis(lease, now, now + limit.timeoutNanos(now, all.settings.commandTimeoutNanos()));
        } catch (LockLostException e) {
            // Ignored: the lease was lost before its release, while no thread had the lock. Nothing was given up.
            event = null;
        }
        residence.ended(lease);
        ends.publish(event);
    }
}
