package io.github.redislocks.micrometer;

import io.micrometer.observation.Observation;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * The observations of holds that have not ended, by lock and token. A thread that has waited in a Condition returns
 * with another token, so its observation is also found by the thread. If the thread returns without the lock, no event
 * reports the end of the hold. Such an observation is removed once the thread has acquired that lock two more times.
 */
final class ObservedHolds {

    /** The most observations of one lock: one of its holder, the others of threads that wait in its Conditions. */
    static final int MOST = 1_000;

    /** A hold that has not ended. Only one thread at a time uses an entry. */
    private static final class Entry {

        final long token;
        final long threadId;
        final Observation observation;
        /**
         * Whether the thread has acquired the lock again since. The entry stays, since the event of a loss may still
         * come.
         */
        boolean passed;

        Entry(long token, long threadId, Observation observation) {
            this.token = token;
            this.threadId = threadId;
            this.observation = observation;
        }
    }

    private final ConcurrentMap<String, List<Entry>> byName = new ConcurrentHashMap<>();

    /**
     * Adds the observation of a hold of the calling thread. Returns an earlier observation of the thread that no event
     * will end, or null.
     */
    @SuppressWarnings("deprecation") // Thread.threadId() came with JDK 19.
    @Nullable
    Observation add(String lockName, long token, Observation observation) {
        long threadId = Thread.currentThread().getId();
        Observation[] forgotten = new Observation[1];
        byName.compute(lockName, (name, present) -> {
            List<Entry> entries = present == null ? new ArrayList<>(1) : present;
            Entry over = entries.size() >= MOST ? entries.get(0) : null;
            for (Entry entry : entries) {
                if (entry.threadId == threadId) {
                    over = entry.passed ? entry : over;
                    entry.passed = true;
                }
            }
            if (over != null) {
                entries.remove(over);
                forgotten[0] = over.observation;
            }
            entries.add(new Entry(token, threadId, observation));
            return entries;
        });
        return forgotten[0];
    }

    /** Removes and returns the observation of a hold that has ended; null if there is none. */
    @SuppressWarnings("deprecation") // Thread.threadId() came with JDK 19.
    @Nullable
    Observation remove(String lockName, long token) {
        long threadId = Thread.currentThread().getId();
        Observation[] found = new Observation[1];
        byName.computeIfPresent(lockName, (name, entries) -> {
            Entry entry = find(entries, token, threadId);
            if (entry != null) {
                entries.remove(entry);
                found[0] = entry.observation;
            }
            return entries.isEmpty() ? null : entries;
        });
        return found[0];
    }

    private static @Nullable Entry find(List<Entry> entries, long token, long threadId) {
        Entry ofThread = null;
        for (Entry entry : entries) {
            if (entry.token == token) {
                return entry;
            }
            if (entry.threadId == threadId && entry.token < token) {
                ofThread = entry;
            }
        }
        Entry only = entries.size() == 1 && entries.get(0).token < token ? entries.get(0) : null;
        return ofThread == null ? only : ofThread;
    }

    /** The number of observations. */
    int size() {
        return byName.values().stream().mapToInt(List::size).sum();
    }
}
