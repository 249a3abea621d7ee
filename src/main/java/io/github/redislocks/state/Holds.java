package io.github.redislocks.state;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.util.Collection;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The holds of a client by lock and thread. These entries decide what the client holds; Redis only mirrors them. An
 * entry lasts as long as its hold, however many entries there are. The record of a loss stays until its thread has
 * unlocked or has ended, or until there are 100,000 later losses.
 *
 * <p>No entry expires by itself: an expiry for each entry would cost time at each lock and unlock, and memory for each
 * hold.
 */
public final class Holds {

    /** How many releases are remembered; a power of two. */
    private static final int REMEMBERED = 256;

    private final Cache<HoldKey, Hold> cache = Caffeine.newBuilder().build();
    /**
     * The latest releases. Threads write without a lock, so one may overwrite the release of another. After a failover,
     * a lock whose release was forgotten may stay taken for the rest of its lease.
     */
    private @Nullable Released[] released = new Released[REMEMBERED];

    private @Nullable Released[] releasedBefore = {};

    /**
     * The data of a hold that was released, for repeating the release. Unlike the hold, the data do not refer to the
     * thread.
     *
     * @param keptMillis how long after the beginning of the hold the lock stays taken; 0 if the release frees it
     * @param lastToken the last token given out under the hold; 0 if that is the hold's own token
     */
    public record Released(LockKeys keys, String ownerId, long attempt, long keptMillis, long lastToken) {}

    /** The calling thread's hold of the lock, valid or lost; null if there is none. */
    @Nullable
    public Hold get(LockKeys keys, Owner caller) {
        return cache.getIfPresent(caller.wanted.of(keys));
    }

    /** The hold of the lock, valid or lost, by a thread or an owner that is no thread; null if there is none. */
    @Nullable
    public Hold get(LockKeys keys, Object holder) {
        return cache.getIfPresent(new HoldKey.Lookup(holder).of(keys));
    }

    /** Adds a hold, in place of an earlier one of the same thread and lock. */
    public void put(Hold hold) {
        // Try the usual case first: put() costs more, since it reads the previous entry as well.
        if (cache.asMap().putIfAbsent(hold, hold) != null) {
            cache.put(hold, hold);
        }
    }

    /** Removes a hold that its thread has unlocked, and restores the lost hold below it, if there is one. */
    public void remove(Hold hold) {
        if (hold.isReleasing() && !hold.owner.isShared()) {
            released[(int) hold.attempt & (REMEMBERED - 1)] =
                    new Released(hold.keys(), hold.owner.id, hold.attempt, hold.owner.keepsMillis(), hold.lastToken());
        }
        replace(hold, hold.below);
    }

    /** The releases that are still remembered. */
    public Stream<Released> released() {
        return Stream.of(releasedBefore, released).flatMap(Stream::of).filter(Objects::nonNull);
    }

    /** Forgets the releases that were already remembered at the previous call. */
    public void forgetReleased() {
        releasedBefore = released;
        released = new Released[REMEMBERED];
    }

    /** Removes a lost hold whose thread will not ask for it any more, and the holds below it. */
    public void forget(Hold hold) {
        replace(hold, null);
    }

    /** {@code remove(key, value)} could also remove an equal object: another hold of the same thread and lock. */
    @SuppressWarnings("ReferenceEquality")
    private void replace(Hold hold, @Nullable Hold other) {
        cache.asMap().computeIfPresent(hold, (key, present) -> present == hold ? other : present);
    }

    /** The approximate number of holds. */
    public long count() {
        return cache.estimatedSize();
    }

    /** All holds, valid or lost. */
    public Collection<Hold> all() {
        return cache.asMap().values();
    }
}
