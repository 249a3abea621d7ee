package io.github.redislocks.residency;

import io.github.redislocks.concurrent.Steps;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.state.HoldKey;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import java.util.Comparator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * The losses of a client's threads under leases. A record stays until its thread has called unlock() or has ended, or
 * until there are 100,000 later losses.
 */
public final class LossRecords {

    /** The pause before a report that failed is tried again. */
    private static final long UNTOLD_NANOS = 100_000_000;
    /** The time between two checks whether the threads are still alive. */
    private static final long LOOK_AGAIN_NANOS = 60_000_000_000L;

    /** The latest loss of each thread and lock. It refers to the loss before it. */
    private final ConcurrentMap<HoldKey, ThreadHold> latest = new ConcurrentHashMap<>();

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
    @SuppressWarnings("ReferenceEquality")
    void remove(ThreadHold lost) {
        latest.computeIfPresent(lost, (key, present) -> present == lost ? lost.earlier() : present);
    }

    /**
     * Lets the earlier of two records of the calling thread, which has locked again, stand for both. Does nothing while
     * the later loss is not reported to the listeners, since the watchdog finds that loss by its record.
     */
    void merge(LockKeys keys, Owner caller) {
        ThreadHold lost = of(keys, caller);
        ThreadHold before = lost == null ? null : lost.earlier();
        if (lost != null && before != null && !lost.isUntold()) {
            remove(lost);
            before.standsFor(lost);
        }
    }

    /**
     * Notifies the listeners of losses that are not reported yet, and removes the records of threads that have ended,
     * and the oldest if there are too many. Returns when to call this again.
     */
    long inspect(ThreadLosses losses, long now) {
        Steps.forEach(latest.values(), lost -> tell(lost, losses));
        long next = Long.MAX_VALUE;
        for (ThreadHold lost : latest.values()) {
            if (lost.owner.isAlive()) {
                next = Math.min(next, now + (lost.isUntold() ? UNTOLD_NANOS : LOOK_AGAIN_NANOS));
            } else {
                forget(lost);
            }
        }
        int tooMany = latest.size() - Renewals.LOSSES;
        if (tooMany > 0) {
            latest.values().stream()
                    .sorted(Comparator.comparingLong((ThreadHold lost) -> lost.acquiredNanos))
                    .limit(tooMany)
                    .toList()
                    .forEach(this::forget);
        }
        return next;
    }

    /** Notifies the listeners of a thread's losses of a lock: an earlier one, too, may not be reported yet. */
    private static void tell(ThreadHold latest, ThreadLosses losses) {
        for (ThreadHold lost = latest; lost != null; lost = lost.earlier()) {
            losses.ended(lost);
        }
    }

    /** Removes a thread's records of a lock, unless a later loss has come meanwhile. */
    @SuppressWarnings("ReferenceEquality")
    private void forget(ThreadHold lost) {
        latest.computeIfPresent(lost, (key, present) -> present == lost ? null : present);
    }
}
