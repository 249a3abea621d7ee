package io.github.redislocks;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * What this client holds, per lock and thread: the authority on it, of which Redis has a mirror. An entry lasts as long
 * as its hold, however many there are; the record of a loss stays until its owner has unlocked or ended, or until there
 * are {@link Renewals#LOSSES} later ones.
 *
 * <p>Nothing expires by itself: an expiry per entry costs time at each lock and unlock, and memory for each hold.
 */
final class Holds {

    /** What a hold is found by. A hold is its own key: another object for each would be memory for nothing. */
    abstract static class Key {

        abstract String lock();

        abstract Thread thread();

        // A user's thread class may override hashCode and equals; identity is what counts.
        @Override
        public final boolean equals(@Nullable Object other) {
            return other instanceof Key key
                    && key.thread() == thread()
                    && key.lock().equals(lock());
        }

        @Override
        public final int hashCode() {
            return 31 * lock().hashCode() + System.identityHashCode(thread());
        }
    }

    /** The key of what one thread looks for, one thing after the other. */
    static final class Wanted extends Key {

        private final Thread thread;
        private String lock = "";

        Wanted(Thread thread) {
            this.thread = thread;
        }

        @Override
        String lock() {
            return lock;
        }

        @Override
        Thread thread() {
            return thread;
        }
    }

    private final Cache<Key, Hold> cache = Caffeine.newBuilder().build();

    /** The calling thread's hold of the lock, held or lost, or null. */
    @Nullable
    Hold get(Keys keys, LocalOwner caller) {
        caller.wanted.lock = keys.lock();
        return cache.getIfPresent(caller.wanted);
    }

    /** A thread's hold of the lock, held or lost, or null. */
    @Nullable
    Hold get(Keys keys, Thread thread) {
        Wanted wanted = new Wanted(thread);
        wanted.lock = keys.lock();
        return cache.getIfPresent(wanted);
    }

    /** Makes this its thread's hold of its lock. */
    void put(Hold hold) {
        // First what is usual and costs less: put is a step that looks at what was there.
        if (cache.asMap().putIfAbsent(hold, hold) != null) {
            cache.put(hold, hold);
        }
    }

    /** Forgets a hold that its owner has unlocked, and puts the lost one below it in its place, if there is one. */
    void remove(Hold hold) {
        replace(hold, hold.below);
    }

    /** Forgets a lost hold, and those below it, whose owner will not ask for it. */
    void forget(Hold hold) {
        replace(hold, null);
    }

    /** Not by {@code remove(key, value)}: another hold of the same thread and lock is equal, and is not meant. */
    @SuppressWarnings("ReferenceEquality")
    private void replace(Hold hold, @Nullable Hold other) {
        cache.asMap().computeIfPresent(hold, (key, present) -> present == hold ? other : present);
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
