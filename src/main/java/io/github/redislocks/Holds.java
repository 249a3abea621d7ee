package io.github.redislocks;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import java.time.Duration;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * What this client holds, per lock and thread: the authority on it, of which Redis has a mirror. An entry lasts as long
 * as its hold, however many there are; the record of a loss stays long enough to tell its owner, if that lives, and is
 * then collected.
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

    private final Cache<Key, Hold> cache;

    Holds(Clock clock) {
        cache = Caffeine.newBuilder()
                .executor(Runnable::run)
                .ticker(clock::nanoTime)
                .expireAfter(new Lifetime())
                .build();
    }

    /** The thread's hold of the lock, held or lost, or null. */
    @Nullable
    Hold get(Keys keys, Thread thread) {
        return cache.getIfPresent(new Key(keys.lock(), thread));
    }

    /** Makes this the thread's hold of its lock. A hold that was lost is put again, so that its record ages. */
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

    /** Lets the record of a lost hold age, unless its owner has unlocked it or holds again. */
    void lost(Hold hold) {
        cache.asMap().replace(new Key(hold.keys.lock(), hold.thread), hold, hold);
    }

    /** Every hold, held or lost. */
    Collection<Hold> all() {
        return cache.asMap().values();
    }

    private static final class Lifetime implements Expiry<Key, Hold> {

        @Override
        public long expireAfterCreate(Key key, Hold hold, long currentTime) {
            if (hold.isOpen()) {
                return Long.MAX_VALUE;
            }
            // A thread that has ended will not ask how it lost its hold.
            return hold.thread.isAlive() ? LOSS_REMEMBERED.toNanos() : 0;
        }

        @Override
        public long expireAfterUpdate(Key key, Hold hold, long currentTime, long currentDuration) {
            return expireAfterCreate(key, hold, currentTime);
        }

        @Override
        public long expireAfterRead(Key key, Hold hold, long currentTime, long currentDuration) {
            return currentDuration;
        }
    }
}
