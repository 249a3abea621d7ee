package io.github.redislocks;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.time.Duration;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * What this client holds, per lock and thread: the authority on it, of which Redis has a mirror. An entry lasts as long
 * as its hold, however many there are; the record of a loss stays until its owner has unlocked, or the watchdog finds
 * that the owner has ended, or has not called for {@link #LOSS_REMEMBERED}.
 *
 * <p>Nothing expires by itself: an expiry per entry costs time at each lock and unlock, and memory for each hold.
 */
final class Holds {

    /** How long a loss is remembered for an owner that has not called since. */
    static final Duration LOSS_REMEMBERED = Duration.ofHours(1);

    private record Key(String lock, Thread thread) {
        // A user's thread class may override hashCode and equals; identity is what counts.
        @Override
        public boolean equals(Object other) {
            return other instanceof Key key && key.thread == thread && key.lock.equals(lock);
        }

        @Override
        public int hashCode() {
            return 31 * lock.hashCode() + System.identityHashCode(thread);
        }
    }

    private final Cache<Key, Hold> cache = Caffeine.newBuilder().build();

    /** The thread's hold of the lock, held or lost, or null. */
    @Nullable
    Hold get(Keys keys, Thread thread) {
        return cache.getIfPresent(new Key(keys.lock(), thread));
    }

    /** Makes this the thread's hold of its lock. */
    void put(Hold hold) {
        cache.put(new Key(hold.keys.lock(), hold.thread), hold);
    }

    /** Forgets a hold that its owner has unlocked, and puts the lost one below it in its place, if there is one. */
    void remove(Hold hold) {
        Key key = new Key(hold.keys.lock(), hold.thread);
        if (hold.below == null) {
            cache.asMap().remove(key, hold);
        } else {
            cache.asMap().replace(key, hold, hold.below);
        }
    }

    /** Forgets a lost hold, and those below it, whose owner will not ask for it. */
    void forget(Hold hold) {
        cache.asMap().remove(new Key(hold.keys.lock(), hold.thread), hold);
    }

    /** About how many there are. */
    long count() {
        return cache.estimatedSize();
    }

    /** Every hold, held or lost. */
    Collection<Hold> all() {
        return cache.asMap().values();
    }
}
