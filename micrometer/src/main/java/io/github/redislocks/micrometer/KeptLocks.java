package io.github.redislocks.micrometer;

import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/**
 * The locks that this process has released by {@code releaseAfter} and that are still unavailable, as far as the
 * process knows: it does not learn that another process forces such a lock open. Entries whose time is over are removed
 * now and then. So there are never more than twice as many entries as such locks, plus 64.
 */
final class KeptLocks {

    private static final int FEW = 64;

    private final LongSupplier nanoTime;
    private final ConcurrentMap<String, Long> untilNanos = new ConcurrentHashMap<>();
    /** The number of entries from which on entries whose time is over are removed. */
    private final AtomicInteger many = new AtomicInteger(FEW);

    KeptLocks(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** Adds a lock that is unavailable for the given time from now on. */
    void add(String lockName, Duration time) {
        untilNanos.put(lockName, nanoTime.getAsLong() + time.toNanos());
        if (untilNanos.size() >= many.get()) {
            many.set(2 * count() + FEW);
        }
    }

    /** Removes a lock that an owner has acquired or a thread has forced open. */
    void remove(String lockName) {
        // Usually the map is empty: avoid the look-up.
        if (!untilNanos.isEmpty()) {
            untilNanos.remove(lockName);
        }
    }

    /** The number of locks that are unavailable now. Removes the entries whose time is over. */
    int count() {
        long now = nanoTime.getAsLong();
        untilNanos.values().removeIf(until -> until - now <= 0);
        return untilNanos.size();
    }

    /** The number of entries. */
    int size() {
        return untilNanos.size();
    }
}
