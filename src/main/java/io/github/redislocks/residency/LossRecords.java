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
 * The losses of a client's threads under a lease, until the thread has unlocked what it lost or has ended, or until
 * there are 100,000 later losses.
 */
public final class LossRecords {

    /** When what could not be told yet is tried again. */
    private static final long UNTOLD_NANOS = 100_000_000;
    /** The time between two checks whether the threads are still alive. */
    private static final long LOOK_AGAIN_NANOS = 60_000_000_000L;

    /** The latest of each thread and lock, which knows the one before. */
    private final ConcurrentMap<HoldKey, ThreadHold> latest = new ConcurrentHashMap<>();

    /** The latest loss of the calling thread that it has not unlocked yet; null if there is none. */
    @Nullable
    ThreadHold of(LockKeys keys, Owner caller) {
        return latest.isEmpty() ? null : latest.get(caller.wanted.of(keys));
    }

    /** Adds a record, once: it does not come back when its thread has unlocked it. */
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
     * Lets the earlier of two records of the calling thread, which has locked again, stand for both; unless the latest
     * is not told yet, since the watchdog finds it by its record.
     */
    void merge(LockKeys keys, Owner caller) {
        ThreadHold lost = of(keys, caller);
        ThreadHold before = lost == null ? null : lost.earlier();
        if (lost != null && before != null && !lost.isUntold()) {
            remove(lost);
            before.standsFor(lost);
        }
    }

    /** Tells what is not told yet, and forgets what nobody will unlock. Returns when to look again. */
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

    /** Tells a thread's losses of a lock, of which the latest may have come before an earlier one was told. */
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
