package io.github.redislocks.residency;

import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.engine.ConditionWaiter;
import io.github.redislocks.engine.Conditions;
import io.github.redislocks.engine.LockEngine;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A lock object that finds and releases the calling thread's hold under a residence, even if the thread acquired that
 * hold by another lock object of the same name. A hold of the thread in Redis is treated as by any other lock object.
 */
abstract class ThreadLock extends Sync {

    final Residences all;
    final LeaseEnds ends;
    final Clock clock;
    /** The residence of the lock; null if this object was made without residency. */
    final @Nullable Residence kept;

    ThreadLock(
            LockEngine engine,
            LockKeys keys,
            boolean fair,
            Settings settings,
            Residences all,
            @Nullable Residence residence) {
        super(engine, keys, fair, settings);
        this.all = all;
        this.ends = all.ends;
        this.clock = all.clock;
        this.kept = residence;
    }

    /** The calling thread's hold under the residence; null if the thread has none or has lost it. */
    final @Nullable ThreadHold local() {
        Residence residence = kept == null ? all.known(keys().lock()) : kept;
        return residence == null ? null : residence.heldBy(Thread.currentThread());
    }

    /** The residence under which a thread has its hold. */
    private static Residence residenceOf(ThreadHold local) {
        return (Residence) local.lease.owner;
    }

    @Override
    protected @Nullable Held present() {
        ThreadHold local = local();
        return local == null ? below(hold()) : local;
    }

    /**
     * The given hold in Redis; or, if that hold is lost or null, the calling thread's later loss under the residence,
     * if there is one.
     */
    private @Nullable Held below(@Nullable Hold hold) {
        ThreadHold lost = hold == null || hold.isLost() ? all.threadLosses.of(keys(), all.owners.caller()) : null;
        return lost == null || (hold != null && hold.acquiredNanos - lost.acquiredNanos > 0) ? hold : lost;
    }

    @Override
    protected @Nullable Held rescued() {
        ThreadHold local = local();
        return local == null ? below((Hold) super.rescued()) : local;
    }

    @Override
    public boolean isValid(Held held) {
        return held instanceof ThreadHold local
                ? all.threadLosses.isValid(local, clock.nanoTime())
                : super.isValid(held);
    }

    /** Ends the turn of a call that did not get the lock, and the hold that the call may have made. */
    final void leave(Residence residence, @Nullable ThreadHold made) {
        if (made == null) {
            residence.turn.end();
        } else {
            // Start the release before the turn ends, so that no query finds the hold valid, and no loss of the hold is
            // reported.
            made.beginRelease(made.acquiredNanos);
            residence.end(made);
        }
        ends.turnEnded(residence);
    }

    /** Called after an error. If only one acquisition is left, ends the thread's hold at once. */
    @Override
    public void strand(Held held, int count) {
        if (!(held instanceof ThreadHold local)) {
            super.strand(held, count);
        } else if (count == 1) {
            leave(residenceOf(local), local);
        } else if (local.count() == count) {
            local.exited();
        }
    }

    @Override
    public void unlock(Held held, long byNanos) {
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

    /**
     * Ends a thread's hold under a lease, and its turn. Releases the lease if there is a reason to give it up, and
     * otherwise keeps it.
     */
    private void passOn(Residence residence, ThreadHold local, long now, long byNanos) {
        StackSpace.ensureLocal();
        if (local.beginRelease(now) == 0) {
            isValid(local);
            throw unlockLost(local);
        }
        GivingUp event = null;
        boolean ended = false;
        try {
            Hold lease = local.lease;
            LockGivenUp.Reason why = ends.whyOver(residence, lease, now, residence.turn.isWanted());
            if (why == null) {
                all.kept(residence, residencyNanos(), now);
                ended = true;
            } else {
                event = ends.event(residence, lease, why);
                ended = endInRedis(lease, now, byNanos);
                if (ended) {
                    residence.ended(lease);
                }
            }
        } finally {
            if (ended) {
                residence.passOn(local, now);
            } else {
                endOrLose(residence, local);
            }
        }
        if (!ended) {
            throw unlockLost(local);
        }
        ends.turnEnded(residence);
        // Notify the listeners last, so that the time until the lock is free does not include the time of the
        // listeners.
        ends.publish(event);
        if (isHeard()) {
            released(local, now);
        }
    }

    /**
     * Ends a thread's hold whose release did not come to its end. If the lease is lost, so is the hold: its loss ends
     * the turn, now or after an error at the next look of the watchdog. Else an error has stopped the release of the
     * lease, which the watchdog continues.
     */
    private void endOrLose(Residence residence, ThreadHold local) {
        LockLost.Reason reason = local.lease.lossReason();
        if (reason == null) {
            // Do not use passOn() here: if the hold was lost, another thread may have ended it already, and a third
            // thread may have the turn.
            residence.end(local);
        } else {
            local.lostInRelease(reason);
            all.losses.ended(local.lease);
        }
    }

    private LockLostException unlockLost(ThreadHold local) {
        // Call `ended` again: the thread that found the loss may have met an error before it notified the listeners.
        all.threadLosses.ended(local);
        LockLostException exception = Losses.exception(local);
        if (local.isLost()) {
            // The thread that declared the loss may not have ended the turn yet. endTurn() also records the loss, so
            // that remove() finds the record, and restores the record of an earlier loss.
            local.endTurn();
        }
        if (local.unlockedAfterLoss()) {
            all.threadLosses.remove(local);
        }
        return exception;
    }

    @Override
    public boolean undo(Held held, long byNanos) {
        if (!(held instanceof ThreadHold)) {
            return super.undo(held, byNanos);
        }
        try {
            unlock(held, byNanos);
        } catch (LockLostException e) {
            // Ignored: the caller never learns that it had the lock, so it need not learn of the loss.
        }
        return true;
    }

    @Override
    public void fix(Held held, long byNanos) {
        // A thread's hold under a lease has no renewal that could be ended: the hold lasts as long as the lease.
        if (!(held instanceof ThreadHold)) {
            super.fix(held, byNanos);
        }
    }

    /**
     * Waits in a Condition. The script that begins the wait ends the lease, as it ends any other hold. After the wait
     * the thread has its own hold in Redis.
     */
    @Override
    protected boolean await(Conditions conditions, String id, WaitLimit limit, @Nullable Instant until)
            throws InterruptedException {
        if (!(ensureHeld() instanceof ThreadHold local)) {
            return super.await(conditions, id, limit, until);
        }
        Waiter waiter = new Waiter(local, hold());
        try {
            try {
                return conditions.await(id, local.lease, waiter, limit, until);
            } finally {
                if (waiter.residence.isEnding(local)) {
                    endOrLose(waiter.residence, local);
                }
            }
        } catch (LockLostException e) {
            isValid(local);
            throw Losses.exception(local);
        }
    }

    /** A thread that gives the lease up to wait in a Condition. */
    private final class Waiter implements ConditionWaiter {

        private final ThreadHold local;
        private final @Nullable Hold below;
        private final Residence residence;
        private @Nullable GivingUp event;

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
            event = ends.event(residence, local.lease, LockGivenUp.Reason.OWN_HOLD);
            return local.beginRelease(now) != 0;
        }

        @Override
        public void hasGivenUp() {
            residence.ended(local.lease);
            residence.passOn(local, clock.nanoTime());
            ends.turnEnded(residence);
            ends.publish(event);
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
