package io.github.redislocks.residency;

import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.StackSpace;
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
 * Decides whether threads' holds under a lease are valid. After the loss of a hold, ends the turn and notifies the
 * listeners, once; and keeps a record until the thread has unlocked what it lost or has ended, or until there are
 * 100,000 later losses.
 */
public final class ThreadLosses {

    private final Losses losses;
    /** The latest record of each thread and lock, which refers to the one before. */
    private final ConcurrentMap<HoldKey, ThreadHold> latest = new ConcurrentHashMap<>();

    public ThreadLosses(Losses losses) {
        this.losses = losses;
    }

    /** Returns true if the hold is valid now. The first caller that finds its lease ended declares the loss. */
    public boolean isValid(ThreadHold hold, long now) {
        if (hold.isValid(now)) {
            return true;
        }
        if (!losses.isValid(hold.lease, now)) {
            begun(hold);
        }
        return false;
    }

    /** Ends a hold whose lease was lost, perhaps by a thread that did not see yet that the hold had begun. */
    public void begun(ThreadHold hold) {
        LockLost.Reason reason = hold.lease.lossReason();
        if (reason != null && hold.lose(reason)) {
            ended(hold);
        }
    }

    /**
     * Ends the turn and notifies the listeners after a loss, once. If an error prevents this, the watchdog does it
     * later.
     */
    void ended(ThreadHold hold) {
        LockLost.Reason reason = hold.lossReason();
        if (reason == null) {
            return;
        }
        // Check the stack before beginTelling(): after that, endTelling() must run in any case, and needs a stack
        // frame.
        StackSpace.ensureLocal();
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
     * Notifies the listeners of the loss of a lease if a thread that has unlocked may have had the lock at that time,
     * unless they were notified already. Two threads may call this at once: listeners are notified once for each lease.
     */
    void tellUnlocked(@Nullable Usage use) {
        LockLost loss = use == null ? null : use.lossOfUnlocked();
        if (use != null && loss != null) {
            // The listeners know of the acquisition by the thread.
            use.lease.announced();
            losses.tell(loss, use.lease);
            use.told();
        }
    }

    /** Ends the local turn of a lease that was lost. */
    void endTurn(Hold lease) {
        losses.endTurn(lease);
    }

    /**
     * The latest loss of the lock by {@code caller} after which the caller has not yet called unlock(); null if there
     * is none.
     */
    @Nullable
    ThreadHold of(LockKeys keys, Owner caller) {
        return latest.isEmpty() ? null : latest.get(caller.wanted.of(keys));
    }

    /** Adds a record once: a repeated call does not add it again after its thread has unlocked it. */
    @SuppressWarnings("ReferenceEquality")
    void add(ThreadHold lost) {
        latest.compute(lost, (key, present) -> present == lost || lost.isRecorded() ? present : lost.above(present));
        // Set the mark after compute(), which fails if there is no memory for the record: a later call then adds it.
        lost.recorded();
    }

    /** Removes a record that its thread has unlocked, and restores the one before, if there is one. */
    void remove(ThreadHold lost) {
        replace(lost, lost.earlier());
    }

    /** Replaces the latest record of a thread and lock, unless a later loss has come meanwhile. */
    @SuppressWarnings("ReferenceEquality")
    private void replace(ThreadHold lost, @Nullable ThreadHold other) {
        latest.computeIfPresent(lost, (key, present) -> present == lost ? other : present);
    }

    /**
     * Merges the two latest records of the calling thread, which has locked again: the earlier one stands for both.
     * Keeps both while listeners were not notified of the later loss, since the watchdog finds that loss by its record.
     */
    void merge(LockKeys keys, Owner caller) {
        ThreadHold lost = of(keys, caller);
        ThreadHold before = lost == null ? null : lost.earlier();
        if (lost != null && before != null && !lost.isUntold()) {
            remove(lost);
            before.standsFor(lost);
        }
    }

    /** Completes notifications, and removes records that nobody will unlock. Returns the time of the next look. */
    long inspect(long now) {
        Steps.forEach(latest.values(), this::complete);
        long next = Long.MAX_VALUE;
        for (ThreadHold lost : latest.values()) {
            if (lost.owner.isAlive()) {
                next = Math.min(next, Losses.nextLook(lost, now));
            } else {
                replace(lost, null);
            }
        }
        int tooMany = latest.size() - Renewals.LOSSES;
        if (tooMany > 0) {
            latest.values().stream()
                    .sorted(Comparator.comparingLong((ThreadHold lost) -> lost.acquiredNanos))
                    .limit(tooMany)
                    .toList()
                    .forEach(lost -> replace(lost, null));
        }
        return next;
    }

    /** Notifies the listeners of a thread's losses of a lock; they may not know of an earlier one yet. */
    private void complete(ThreadHold last) {
        for (ThreadHold lost = last; lost != null; lost = lost.earlier()) {
            ended(lost);
        }
    }
}
