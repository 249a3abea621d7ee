package io.github.redislocks.lease;

import io.github.redislocks.state.Hold;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The locks of which somebody has changed the key, so that Redis is to be asked whether they are still held. Noted by
 * any thread and taken by the watchdog, for one walk each.
 */
final class Doubts {

    /** The least time between two takings, so that a key that changes all the time is not asked for all the time. */
    private static final long PAUSE_NANOS = 10_000_000;

    private final Set<String> noted = ConcurrentHashMap.newKeySet();
    private volatile boolean allNoted;
    private Set<String> taken = Set.of();
    private boolean allTaken;
    /** The earliest time of the next taking. */
    private volatile long nextNanos;

    /** Notes a lock; null: all of them. Returns the time of the next taking: most locks are those of unlocks. */
    long add(@Nullable String lock) {
        if (lock == null) {
            allNoted = true;
        } else {
            noted.add(lock);
        }
        return nextNanos;
    }

    /** Takes what was noted, unless that was just done; returns when it has to be done again. */
    long take(long now) {
        taken = Set.of();
        allTaken = false;
        if (!allNoted && noted.isEmpty()) {
            return Long.MAX_VALUE;
        }
        if (now < nextNanos) {
            return nextNanos;
        }
        nextNanos = now + PAUSE_NANOS;
        allTaken = allNoted;
        if (allTaken) {
            allNoted = false;
        }
        Set<String> locks = new HashSet<>();
        for (Iterator<String> all = noted.iterator(); all.hasNext(); ) {
            locks.add(all.next());
            all.remove();
        }
        taken = locks;
        return Long.MAX_VALUE;
    }

    /** Whether the lock of a hold was among what was taken last. */
    boolean has(Hold hold) {
        return allTaken || (!taken.isEmpty() && taken.contains(hold.lock()));
    }
}
