package io.github.redislocks.residency;

import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.Steps;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.HoldKey;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import java.util.Comparator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether threads' holds under a lease are valid. Handles the loss of such a hold: ends the turn, and notifies
 * the listeners once. Keeps a record of the loss until the thread calls unlock() or ends, or until there are 100,000
 * later losses.
 */
public final class ThreadLosses {

    private final Losses losses;
    /** The latest loss of each thread and lock, which refers to the loss before it. */
    private final ConcurrentMap<HoldKey, ThreadHold> latest = new ConcurrentHashMap<>();

    public ThreadLosses(Losses losses) {
        this.losses = losses;
    }

    /**
     * Returns true if the hold is valid now. If the lease has ended, declares the hold lost, unless another thread has
     * done so.
     */
    public boolean isValid(ThreadHold hold, long now) {
        if (hold.isValid(now)) {
            return true;
        }
        if (!losses.isValid(hold.lease, now)) {
            begun(hold);
        }
        return false;
    }

    /**
     * Declares the hold lost if its lease is lost. The thread that declared the loss of the lease may not have seen
     * this hold.
     */
    public void begun(ThreadHold hold) {
        LockLost.Reason reason = hold.lease.lossReason();
        if (reason != null && hold.lose(reason)) {
            ended(hold);
        }
    }

    /**
     * After the loss of a hold, ends the turn and notifies the listeners. Does nothing if that was done. If an error
     * prevents it, the watchdog calls this method later.
     */
    void ended(ThreadHold hold) {
        LockLost.Reason reason = hold.lossReason();
        if (reason == null) {
            return;
        }
        if (!hold.beginTelling()) {
            return;
        }
        boolean done = false;
        try {
            losses.noteLost(hold.lease.attempt);
            hold.endTurn();
            losses.tell(hold.loss(reason), hold);
            done = true;
        } finally {
            hold.endTelling(done);
        }
    }

    /**
     * Notifies the listeners of the loss of a lease if a thread may have had the lock when the lease was lost, and has
     * unlocked since. The listeners are notified once for each lease, even if two threads call this at once.
     */
    void tellUnlocked(@Nullable Usage use) {
        LockLost loss = use == null ? null : use.lossOfUnlocked();
        if (use != null && loss != null) {
            // The loss of an unannounced hold is not published, and no acquisition of the lease itself is ever
            // announced. The listeners know of the thread's acquisition, so mark the lease as announced.
            use.lease.announced();
            losses.tell(loss, use.lease);
            use.told();
        }
    }

    /** Ends the local turn by which a lost lease was acquired. */
    void endTurn(Hold lease) {
        losses.endTurn(lease);
    }

    /** The caller's latest loss of the lock for which the caller has not called unlock() yet, or null. */
    @Nullable
    ThreadHold of(LockKeys keys, Owner caller) {
        return latest.isEmpty() ? null : latest.get(caller.wanted.of(keys));
    }

    /**
     * Adds the record of a loss. A repeated call does nothing, even if the thread has called unlock() and so removed
     * the record.
     */
    @SuppressWarnings("ReferenceEquality")
    void add(ThreadHold lost) {
        latest.compute(lost, (key, present) -> present == lost || lost.isRecorded() ? present : lost.above(present));
        // Set the mark after compute(): if there is no memory for the record, compute() throws, and a later call adds
        // the record.
        lost.recorded();
    }

    /**
     * Removes the record of a loss for which the thread has called unlock(). The record of the loss before it, if any,
     * becomes the latest.
     */
    void remove(ThreadHold lost) {
        replace(lost, lost.earlier());
    }

    /** Replaces the record {@code lost} if it is still the latest of its thread and lock. */
    @SuppressWarnings("ReferenceEquality")
    private void replace(ThreadHold lost, @Nullable ThreadHold other) {
        latest.computeIfPresent(lost, (key, present) -> present == lost ? other : present);
    }

    /**
     * Merges the two latest records of the calling thread, which has locked again, into the earlier one. Keeps both
     * records until the listeners were notified of the later loss, since the watchdog finds that loss by its record.
     */
    void merge(LockKeys keys, Owner caller) {
        ThreadHold lost = of(keys, caller);
        ThreadHold before = lost == null ? null : lost.earlier();
        if (lost != null && before != null && !lost.isUntold()) {
            remove(lost);
            before.standsFor(lost);
        }
    }

    /** Completes notifications, and removes the records of threads that have ended. Returns when to call this again. */
    long inspect(long now) {
        try {
            Steps.forEach(latest.values(), this::complete);
        } finally {
            forgetEnded();
            forgetOldest();
        }
        long next = Long.MAX_VALUE;
        for (ThreadHold lost : latest.values()) {
            next = Math.min(next, Losses.nextLook(lost, now));
        }
        return next;
    }

    /** Completes the notifications of a thread's losses of one lock: of the latest loss and of earlier losses. */
    private void complete(ThreadHold lost) {
        try {
            ended(lost);
        } finally {
            ThreadHold before = lost.earlier();
            if (before != null) {
                complete(before);
            }
        }
    }

    private void forgetEnded() {
        for (ThreadHold lost : latest.values()) {
            if (!lost.owner.isAlive()) {
                replace(lost, null);
            }
        }
    }

    /** Removes the oldest records if there are too many. */
    private void forgetOldest() {
        int tooMany = latest.size() - Renewals.LOSSES;
        if (tooMany > 0) {
            latest.values().stream()
                    .sorted(Comparator.comparingLong((ThreadHold lost) -> lost.acquiredNanos))
                    .limit(tooMany)
                    .toList()
                    .forEach(lost -> replace(lost, null));
        }
    }
}
