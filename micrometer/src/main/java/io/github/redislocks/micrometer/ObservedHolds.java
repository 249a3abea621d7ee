package io.github.redislocks.micrometer;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockEvent;
import io.micrometer.observation.Observation;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * The observations of holds that have not ended, by lock, mode, owner and token. A thread that has waited in a
 * Condition returns with a greater token, so a hold ends the last observation of its owner that has no greater one. If
 * the thread returns without the lock, no event reports the end of the hold. Such an observation is removed once the
 * thread has acquired that lock two more times.
 */
final class ObservedHolds {

    /** The most observations of one lock: of its holder or its readers, and of threads that wait in its Conditions. */
    static final int MOST = 1_000;

    /** A hold that has not ended. Only one thread at a time uses an entry. */
    private static final class Entry {

        final LockAcquired begun;
        final Observation observation;
        /**
         * Whether the owner has acquired the lock again since. The entry stays, since the event of a loss may still
         * come.
         */
        boolean passed;

        Entry(LockAcquired begun, Observation observation) {
            this.begun = begun;
            this.observation = observation;
        }

        boolean isOf(LockEvent.Mode mode, String ownerId) {
            return begun.mode() == mode && begun.ownerId().equals(ownerId);
        }
    }

    private final ConcurrentMap<String, List<Entry>> byName = new ConcurrentHashMap<>();

    /**
     * Adds the observation of a hold that has begun. Returns an earlier observation of the owner that no event will
     * end, or null.
     */
    @Nullable
    Observation add(LockAcquired begun, Observation observation) {
        Observation[] forgotten = new Observation[1];
        byName.compute(begun.lockName(), (name, present) -> {
            List<Entry> entries = present == null ? new ArrayList<>(1) : present;
            Entry over = entries.size() >= MOST ? entries.get(0) : null;
            for (Entry entry : entries) {
                if (entry.isOf(begun.mode(), begun.ownerId())) {
                    over = entry.passed ? entry : over;
                    entry.passed = true;
                }
            }
            if (over != null) {
                entries.remove(over);
                forgotten[0] = over.observation;
            }
            entries.add(new Entry(begun, observation));
            return entries;
        });
        return forgotten[0];
    }

    /** Removes and returns the observation of a hold that has ended; null if there is none. */
    @Nullable
    Observation remove(String lockName, LockEvent.Mode mode, String ownerId, long token) {
        Observation[] found = new Observation[1];
        byName.computeIfPresent(lockName, (name, entries) -> {
            Entry entry = null;
            for (Entry each : entries) {
                boolean fits = each.isOf(mode, ownerId) && each.begun.token() <= token;
                if (fits && (entry == null || each.begun.token() > entry.begun.token())) {
                    entry = each;
                }
            }
            if (entry != null) {
                entries.remove(entry);
                found[0] = entry.observation;
            }
            return entries.isEmpty() ? null : entries;
        });
        return found[0];
    }

    /** The number of observations. */
    int size() {
        return byName.values().stream().mapToInt(List::size).sum();
    }
}
