package io.github.redislocks.residency;

import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.engine.Conditions;
import io.github.redislocks.engine.LockEngine;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.health.Availability;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A lock object of a client that can keep locks. If the object was made with a residency, a thread acquires the lock by
 * the turn of the {@link Residence}; if the client has the lock in Redis, this needs no request. A call that needs a
 * hold of its own in Redis works as for every other lock, and waits behind the residence. Each object of the lock finds
 * its thread's hold under a residence, even if the thread acquired it by another object.
 */
final class KeptLock extends Sync {

    /** For how many nanoseconds a confirmation of the lease should provide tokens. */
    private static final long TOKEN_NANOS = 50_000;

    private static final int TOKEN_SPINS = 10_000;
    /** How often the clock is read, at most, to wait for the next microsecond. */
    private static final int TIME_SPINS = 1_000;

    private final Residences all;
    private final Clock clock;
    /**
     * The residence by which the client keeps the lock for its threads; null if this object was made without residency.
     */
    private final @Nullable Residence kept;

    KeptLock(
            LockEngine engine,
            LockKeys keys,
            boolean fair,
            Settings settings,
            Residences all,
            @Nullable Residence residence) {
        super(engine, keys, fair, settings);
        this.all = all;
        this.clock = all.clock;
        this.kept = residence;
    }

    /** The residence of the lock, even if another lock object made it; null if there is none. */
    private @Nullable Residence residence() {
        return kept == null ? all.known(keys().lock()) : kept;
    }

    /** The residence of a thread's hold, which is the owner of the lease. */
    private static Residence residenceOf(ThreadHold local) {
        return (Residence) local.lease.owner;
    }

    /** The calling thread's hold under a residence; null if there is none, or if it is lost. */
    private @Nullable ThreadHold local() {
        Residence residence = residence();
        return residence == null ? null : residence.heldBy(Thread.currentThread());
    }

    /**
     * The calling thread's latest loss under a residence after which it has not yet called unlock(); null if there is
     * none.
     */
    private @Nullable ThreadHold lost() {
        return all.records.of(keys(), all.owners.caller());
    }

    @Override
    protected @Nullable Held present() {
        ThreadHold local = local();
        return local == null ? below(hold()) : local;
    }

    /** The given hold in Redis, or the calling thread's loss under a residence if the hold is lost and older. */
    private @Nullable Held below(@Nullable Hold hold) {
        ThreadHold lost = hold == null || hold.isLost() ? lost() : null;
        return lost == null || (hold != null && hold.acquiredNanos - lost.acquiredNanos > 0) ? hold : lost;
    }

    @Override
    protected @Nullable Held rescued() {
        ThreadHold local = local();
        if (local == null || !local.stranded) {
            return local == null ? below((Hold) super.rescued()) : local;
        }
        all.handoff.rescue(local.lease);
        return present();
    }

    @Override
    public boolean isValid(Held held) {
        return held instanceof ThreadHold local
                ? all.threadLosses.isValid(local, clock.nanoTime())
                : super.isValid(held);
    }

    /** Returns true if a residence can serve the call. It cannot if the caller chose a lease. */
    private boolean isWanted(long leaseMillis, boolean renewed) {
        return renewed && leaseMillis == leaseMillis();
    }

    @Override
    protected @Nullable Held enterHere(long leaseMillis, boolean renewed) {
        Residence residence = residence();
        ThreadHold local = residence == null ? null : residence.heldBy(Thread.currentThread());
        if (local != null) {
            return local.covers(clock.nanoTime(), leaseMillis, renewed) ? again(local) : null;
        }
        if (kept == null) {
            return super.enterHere(leaseMillis, renewed);
        }
        return isWanted(leaseMillis, renewed) ? acquireHere(kept, leaseMillis) : null;
    }

    private static ThreadHold again(ThreadHold local) {
        checkCount(local);
        local.reentered();
        return local;
    }

    /** Acquires the lock without a request if this client keeps it; null if that is not possible. */
    private @Nullable ThreadHold acquireHere(Residence residence, long leaseMillis) {
        Hold present = residence.lease();
        if (present == null) {
            return null;
        }
        StackSpace.ensureLocal();
        long began = clock.nanoTime();
        // Checked before the turn is taken: with the turn, this thread would have to give the lock up.
        if (all.whyOver(residence, present, began, true) != null || !residence.tryTurn()) {
            return null;
        }
        boolean done = false;
        try {
            Owner caller = all.owners.caller();
            Hold lease = residence.lease();
            ThreadHold local = !mayEnter(all.holds.get(keys(), caller), all.records.of(keys(), caller))
                            || lease == null
                            || lease.renewedMillis() < leaseMillis
                            || !all.losses.isValid(lease, began)
                    ? null
                    : takeInTime(residence, lease, caller, began);
            if (local != null) {
                done = true;
                begun(residence, local);
                if (isHeard()) {
                    all.events.acquired(keys(), local, began, all.events.begun(keys()));
                }
            }
            return local;
        } finally {
            if (!done) {
                residence.endTurn();
                all.turnEnded(residence);
            }
        }
    }

    /** Returns true if the present hold or loss of the calling thread lets it acquire the lock. */
    private boolean mayEnter(@Nullable Hold hold, @Nullable ThreadHold lost) {
        return (hold == null && lost == null) || ((hold == null || hold.isLost()) && mayRelock());
    }

    @Override
    protected @Nullable Held acquire(WaitLimit limit, long leaseMillis, boolean renewed) throws InterruptedException {
        if (!all.any()) {
            return super.acquire(limit, leaseMillis, renewed);
        }
        try {
            throwIfInterrupted(limit);
            Held held = rescued();
            if (held instanceof ThreadHold local && enteredAgain(local, limit, leaseMillis, renewed)) {
                return local;
            }
            if (held instanceof ThreadHold lost) {
                // Repeated, since an error may have stopped the thread that found the loss.
                all.threadLosses.ended(lost);
                if (!mayRelock()) {
                    throw Losses.exception(lost);
                }
            }
            Hold hold = held instanceof Hold own ? own : held == null ? null : hold();
            if (kept == null || !isWanted(leaseMillis, renewed) || !mayEnter(hold, null)) {
                return super.acquire(limit, leaseMillis, renewed);
            }
            if (hold != null) {
                all.losses.ended(hold);
            }
            return acquireKept(kept, request(leaseMillis, renewed), limit, hold);
        } finally {
            limit.restore();
        }
    }

    private @Nullable Held acquireKept(
            Residence residence, Attempt.Request request, WaitLimit limit, @Nullable Hold lost)
            throws InterruptedException {
        return isHeard()
                ? heard(() -> acquire(residence, request, limit, lost))
                : acquire(residence, request, limit, lost);
    }

    /** Counts a re-entry; false if the thread turned out to have lost the lock. */
    private boolean enteredAgain(ThreadHold local, WaitLimit limit, long leaseMillis, boolean renewed)
            throws InterruptedException {
        long now = clock.nanoTime();
        if (!all.threadLosses.isValid(local, now)) {
            return false;
        }
        if (!local.covers(now, leaseMillis, renewed)) {
            checkCount(local);
            if (!prolong(local.lease, limit, leaseMillis, renewed)) {
                isValid(local);
                return false;
            }
        }
        again(local);
        return true;
    }

    /** Acquires a lock that the client keeps, or wants to keep, for the calling thread. Null if it was busy. */
    private @Nullable Held acquire(Residence residence, Attempt.Request request, WaitLimit limit, @Nullable Hold lost)
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
                return found == Residence.Found.HOLDER ? null : attempt(all.owners.caller(), request, limit, lost);
            }
        } else if (!residence.tryTurn()) {
            waited = true;
            if (!awaitTurn(residence, limit)) {
                checkOutage(residence, false, limit, began);
                return null;
            }
        }
        boolean done = false;
        try {
            if (waited) {
                checkOutage(residence, true, limit, began);
            }
            ThreadHold local = takeConfirmed(residence, residence.lease(), request.leaseMillis(), limit);
            while (local == null) {
                // There is no lease, or it may not be kept any longer.
                Hold over = residence.lease();
                if (over != null) {
                    giveUp(residence, over, limit);
                }
                all.answerTries(residence);
                if (!limit.waits() && all.localQueue.isInUse(keys().lock())) {
                    // A release of the lease has not been answered yet. A request by the same owner could overtake it
                    // in Redis, so ask for this thread instead of the residence.
                    return attempt(all.owners.caller(), request, limit, lost);
                }
                Hold lease = lease(residence, request, limit);
                if (lease == null) {
                    return null;
                }
                local = residence.take(lease, all.owners.caller(), clock.nanoTime());
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
                all.turnEnded(residence);
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
                // The last owner of the turn may have kept the lease only because this thread was waiting. So decide
                // again whether to give it up.
                all.turnEnded(residence);
            }
        }
    }

    /**
     * Throws if the thread waited because of an outage, and the outage used up its time limit or has lasted longer than
     * {@code retryFor}. The thread that had the turn met the outage while it asked for the lock, so no thread of this
     * client held the lock.
     */
    private void checkOutage(Residence residence, boolean turn, WaitLimit limit, long began) {
        if (residence.lease() != null) {
            return;
        }
        Availability server = all.monitored.of(keys().lock());
        long now = clock.nanoTime();
        long age = server.age(now);
        if (age > 0 && (!turn || limit.isPast(age))) {
            throw all.unavailable.notAcquired(keys(), now - began, false, server.cause());
        }
    }

    /** As {@link #take}; but if there is no token, or the lease is not as long as wanted, asks Redis first. */
    private @Nullable ThreadHold takeConfirmed(
            Residence residence, @Nullable Hold lease, long leaseMillis, WaitLimit limit) {
        ThreadHold local = take(residence, lease, leaseMillis, all.owners.caller(), clock.nanoTime());
        if (local != null
                || lease == null
                || !all.losses.isValid(lease)
                || all.whyOver(residence, lease, clock.nanoTime(), true) != null) {
            return local;
        }
        // Wait first, so that the reply makes tokens valid for the next TOKEN_NANOS: the lease has one for each
        // microsecond.
        long from = residence.nextTokenNanos(lease) + TOKEN_NANOS;
        for (int i = 0; i < TOKEN_SPINS && clock.nanoTime() < from; i++) {
            Thread.onSpinWait();
        }
        confirm(lease, limit, Math.max(lease.renewedMillis(), leaseMillis));
        ThreadHold confirmed = take(residence, lease, leaseMillis, all.owners.caller(), clock.nanoTime());
        if (confirmed != null) {
            confirmed.asked();
        }
        return confirmed;
    }

    /**
     * Makes the calling thread, which has the turn, the holder. Returns null if the lease is not valid, is renewed for
     * a shorter time than wanted, or may not be kept.
     */
    private @Nullable ThreadHold take(
            Residence residence, @Nullable Hold lease, long leaseMillis, Owner caller, long now) {
        if (lease == null
                || lease.renewedMillis() < leaseMillis
                || !all.losses.isValid(lease, now)
                || all.whyOver(residence, lease, now, true) != null) {
            return null;
        }
        return takeInTime(residence, lease, caller, now);
    }

    /**
     * Makes the calling thread, which has the turn, the holder. If the next token needs no request, only time, waits
     * for its microsecond.
     */
    private @Nullable ThreadHold takeInTime(Residence residence, Hold lease, Owner caller, long now) {
        ThreadHold local = residence.take(lease, caller, now);
        for (int i = 0; local == null && i < TIME_SPINS && lease.isOpen() && residence.givesTokensByTime(lease); i++) {
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

    private @Nullable Hold lease(Residence residence, Attempt.Request request, WaitLimit limit)
            throws InterruptedException {
        residence.waits();
        try {
            Hold lease = attempt(residence, request, limit, null);
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
            // Wake the watchdog only after residence.begin(): before that, its inspection would not find the lease.
            all.watchdog.wakeAt(lease.acquiredNanos + Timing.heartbeatMillis(lease.leaseMillis()) * 1_000_000);
        } catch (Throwable e) {
            all.handoff.strand(lease);
            throw e;
        }
        all.begun();
    }

    /**
     * Called once the calling thread has the lock. Declares the hold lost if its lease was lost meanwhile, and answers
     * tries. After an error the watchdog ends the hold.
     */
    private void begun(Residence residence, ThreadHold local) {
        try {
            // Merge the records before this hold can be lost, since a loss adds another one.
            all.records.merge(keys(), local.owner);
            all.threadLosses.begun(local, clock.nanoTime());
            all.answerTries(residence);
        } catch (Throwable e) {
            strand(local);
            throw e;
        }
    }

    /** Leaves a thread's hold to the watchdog, after an error. */
    private void strand(ThreadHold local) {
        local.stranded = true;
        all.watchdog.wakeNow();
    }

    @Override
    protected void strand(Held held, int count) {
        if (!(held instanceof ThreadHold local)) {
            super.strand(held, count);
        } else if (count == 1) {
            strand(local);
        } else if (local.count() == count) {
            local.exited();
        }
    }

    /**
     * Releases a lease under which the calling thread, which has the turn, cannot become the holder. Returns when Redis
     * has answered; if it does not answer in time, the release goes on in the background.
     */
    private void giveUp(Residence residence, Hold lease, WaitLimit limit) {
        GivingUp told = all.givingUp(residence, lease, LockGivenUp.Reason.NO_TOKEN);
        try {
            long now = clock.nanoTime();
            endInRedis(lease, now, now + limit.timeoutNanos(now, all.settings.commandTimeoutNanos()));
        } catch (LockLostException e) {
            // Ignored: the lease was lost before the release, but no thread had the lock. Nothing was given up either.
            told = null;
        } catch (Throwable e) {
            all.handoff.strand(lease);
            throw e;
        } finally {
            residence.ended(lease);
        }
        all.givenUp(told);
    }

    @Override
    protected void unlock(Held held, long byNanos) {
        if (!(held instanceof ThreadHold local)) {
            super.unlock(held, byNanos);
            return;
        }
        long now = clock.nanoTime();
        if (!all.threadLosses.isValid(local, now)) {
            throw unlockLost(local);
        }
        if (local.count() > 1) {
            local.exited();
        } else {
            passOn(residenceOf(local), local, now, byNanos);
        }
    }

    /** Ends a thread's hold under a lease. The lease is released if others want the lock, and otherwise kept. */
    private void passOn(Residence residence, ThreadHold local, long now, long byNanos) {
        GivingUp givingUp = null;
        try {
            StackSpace.ensureLocal();
            if (local.beginRelease(now) == 0) {
                isValid(local);
                throw unlockLost(local);
            }
            Hold lease = local.lease;
            LockGivenUp.Reason why = all.whyOver(residence, lease, now, residence.isWanted());
            if (why != null) {
                givingUp = all.givingUp(residence, lease, why);
                endLease(residence, local, now, byNanos);
            } else {
                all.kept(residence, residencyNanos(), now);
            }
        } catch (LockLostException e) {
            throw e;
        } catch (Throwable e) {
            strand(local);
            throw e;
        }
        residence.passOn(now);
        all.turnEnded(residence);
        // Notify the listeners last, so that the time of the release does not include theirs.
        all.givenUp(givingUp);
        if (isHeard()) {
            released(local, now);
        }
    }

    private void endLease(Residence residence, ThreadHold local, long now, long byNanos) {
        StackSpace.ensure();
        try {
            endInRedis(local.lease, now, byNanos);
            residence.ended(local.lease);
        } catch (LockLostException e) {
            lostInRelease(local);
            throw unlockLost(local);
        }
    }

    /** Declares a thread's hold lost, since its lease turned out to be lost while the thread released the hold. */
    private void lostInRelease(ThreadHold local) {
        LockLost.Reason reason = local.lease.lossReason();
        if (local.lostInRelease(reason == null ? LockLost.Reason.EXPIRED : reason)) {
            all.threadLosses.ended(local);
        }
        // Repeated, since the thread that declared the loss could not finish while this hold was open.
        all.losses.ended(local.lease);
    }

    private LockLostException unlockLost(ThreadHold local) {
        // Repeated, since an error may have stopped the thread that found the loss before it notified the listeners.
        all.threadLosses.ended(local);
        LockLostException exception = Losses.exception(local);
        if (local.isLost()) {
            // End the turn here too, which makes the record: the thread that declared the loss may not have done so
            // yet. After this unlock, the record of an earlier loss is the latest again.
            local.endTurn();
        }
        if (local.unlockedAfterLoss()) {
            all.records.remove(local);
        }
        return exception;
    }

    @Override
    protected boolean undo(Held held, long byNanos) {
        if (!(held instanceof ThreadHold)) {
            return super.undo(held, byNanos);
        }
        try {
            unlock(held, byNanos);
        } catch (LockLostException e) {
            // Ignored: the caller never learns that it had the lock, so it need not learn that the lock was lost.
        }
        return true;
    }

    @Override
    protected void fix(Held held, long byNanos) {
        // The hold of a thread under a lease is not renewed by itself: it lasts for as long as the client keeps the
        // lock.
        if (!(held instanceof ThreadHold)) {
            super.fix(held, byNanos);
        }
    }

    /**
     * Waits in a Condition: the same script ends the lease that would end an ordinary hold. When the wait ends, the
     * thread gets a hold of its own.
     */
    @Override
    protected boolean await(Conditions conditions, String id, WaitLimit limit, @Nullable Instant until)
            throws InterruptedException {
        if (!(ensureHeld() instanceof ThreadHold local)) {
            return super.await(conditions, id, limit, until);
        }
        Waiter waiter = new Waiter(local, hold());
        try {
            return conditions.await(id, local.lease, waiter, limit, until);
        } catch (LockLostException e) {
            if (waiter.gives) {
                lostInRelease(local);
            }
            isValid(local);
            throw Losses.exception(local);
        } catch (Throwable e) {
            if (waiter.gives) {
                strand(local);
            }
            throw e;
        }
    }

    /** A thread that gives a lease up to wait in a Condition. */
    private final class Waiter implements Conditions.Waiter {

        private final ThreadHold local;
        private final @Nullable Hold below;
        private final Residence residence;
        private @Nullable GivingUp told;
        /** True from the start of the release until the lease has ended. */
        private boolean gives;

        Waiter(ThreadHold local, @Nullable Hold below) {
            this.local = local;
            this.below = below;
            this.residence = residenceOf(local);
        }

        @Override
        public Owner owner() {
            return local.owner;
        }

        @Override
        public int count() {
            return local.count();
        }

        @Override
        public @Nullable Hold below() {
            return below;
        }

        @Override
        public boolean begins(long now) {
            told = all.givingUp(residence, local.lease, LockGivenUp.Reason.OWN_HOLD);
            gives = local.beginRelease(now) != 0;
            return gives;
        }

        @Override
        public void hasGivenUp() {
            residence.ended(local.lease);
            residence.passOn(clock.nanoTime());
            gives = false;
            all.turnEnded(residence);
            all.givenUp(told);
        }
    }

    @Override
    protected void signal(Conditions conditions, String id, boolean all, WaitLimit limit) {
        if (!(ensureHeld() instanceof ThreadHold local)) {
            super.signal(conditions, id, all, limit);
            return;
        }
        try {
            conditions.signal(id, local.lease, all, limit);
        } catch (LockLostException e) {
            isValid(local);
            throw Losses.exception(local);
        }
    }
}
