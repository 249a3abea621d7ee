package io.github.redislocks.state;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * What this client holds, per lock and thread: the authority on it, of which Redis has a mirror. An entry lasts as long
 * as its hold, however many there are; the record of a loss stays until its owner has unlocked or ended, or until there
 * are 100,000 later ones.
 *
 * <p>Nothing expires by itself: an expiry per entry costs time at each lock and unlock, and memory for each hold.
 */
public final class Holds {

    private final Cache<HoldKey, Hold> cache = Caffeine.newBuilder().build();

    /** The calling thread's hold of the lock, held or lost, or null. */
    @Nullable
    public Hold get(LockKeys keys, Owner caller) {
        return cache.getIfPresent(caller.wanted.of(keys));
    }

    /** The hold of the lock that a thread has, or an owner that is none; held or lost, or null. */
    @Nullable
    public Hold get(LockKeys keys, Object holder) {
        return cache.getIfPresent(new HoldKey.Wanted(holder).of(keys));
    }

    /** Makes this its thread's hold of its lock. */
    public void put(Hold hold) {
        // First what is usual and costs less: put is a step that looks at what was there.
        if (cache.asMap().putIfAbsent(hold, hold) != null) {
            cache.put(hold, hold);
        }
    }

    /** Forgets a hold that its owner has unlocked, and puts the lost one below it in its place, if there is one. */
    public void remove(Hold hold) {
        replace(hold, hold.below);
    }

    /** Forgets a lost hold, and those below it, whose owner will not ask for it. */
    public void forget(Hold hold) {
        replace(hold, null);
    }

    /** Not by {@code remove(key, value)}: another hold of the same thread and lock is equal, and is not meant. */
    @SuppressWarnings("ReferenceEquality")
    private void replace(Hold hold, @Nullable Hold other) {
        cache.asMap().computeIfPresent(hold, (key, present) -> present == hold ? other : present);
    }

    /** About how many there are. */
    public long count() {
        return cache.estimatedSize();
    }

    /** Every hold, held or lost. */
    public Collection<Hold> all() {
        return cache.asMap().values();
    }
}
