package io.github.redislocks.micrometer;

import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/**
 * The locks that were released here and stay taken by nobody until a time, as far as this process knows: it is not told
 * if another one forces such a lock open. An entry lasts about as long as its lock is kept; there are at most twice as
 * many as such locks, and a few.
 */
final class KeptLocks {

    private static final int FEW = 64;

    private final LongSupplier nanoTime;
    private final ConcurrentMap<String, Long> untilNanos = new ConcurrentHashMap<>();
    /** With how many entries those that are over are looked for. */
    private final AtomicInteger many = new AtomicInteger(FEW);

    KeptLocks(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** A lock is kept from now on for a time. */
    void add(String lockName, Duration time) {
        untilNanos.put(lockName, nanoTime.getAsLong() + time.toNanos());
        if (untilNanos.size() >= many.get()) {
            many.set(2 * count() + FEW);
        }
    }

    /** Somebody has the lock, or has forced it open. */
    void remove(String lockName) {
        // The usual case first.
        if (!untilNanos.isEmpty()) {
            untilNanos.remove(lockName);
        }
    }

    /** How many are kept now. */
    int count() {
        long now = nanoTime.getAsLong();
        untilNanos.values().removeIf(until -> until - now <= 0);
        return untilNanos.size();
    }

    /** How many entries there are. */
    int size() {
        return untilNanos.size();
    }
}
