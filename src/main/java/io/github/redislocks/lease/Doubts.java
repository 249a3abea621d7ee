package io.github.redislocks.lease;

import io.github.redislocks.state.Hold;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The locks whose keys others have changed, so that the client has to ask Redis whether it still holds them. Any thread
 * may note such a lock. The watchdog takes the locks that were noted, for one inspection.
 */
final class Doubts {

    /** The least time between two such inspections: a key that changes all the time must cause few requests. */
    private static final long PAUSE_NANOS = 10_000_000;

    private final Set<String> noted = ConcurrentHashMap.newKeySet();
    private volatile boolean allNoted;
    private Set<String> taken = Set.of();
    private boolean allTaken;
    /** The earliest time of the next inspection that asks about noted locks. */
    private volatile long nextNanos;

    /** Notes a lock, or all locks if {@code lock} is null. Returns the time from which the watchdog may take it. */
    long add(@Nullable String lock) {
        if (lock == null) {
            allNoted = true;
        } else {
            noted.add(lock);
        }
        return nextNanos;
    }

    /**
     * Takes the noted locks for an inspection, but not before {@link #nextNanos}. Returns the time of the next call;
     * {@link Long#MAX_VALUE} if none is needed.
     */
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

    /** Whether the last call of {@link #take} took the lock of this hold. */
    boolean has(Hold hold) {
        return allTaken || (!taken.isEmpty() && taken.contains(hold.lock()));
    }
}
