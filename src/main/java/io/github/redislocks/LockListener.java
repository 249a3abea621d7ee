package io.github.redislocks;

import org.jspecify.annotations.Nullable;

/**
 * A listener for what happens to the locks of one {@link RedisLocks}. Override the methods of interest; later versions
 * may add methods, which do nothing unless overridden. An exception from a method is logged and changes nothing.
 *
 * <pre>{@code
 * RedisLocks locks = RedisLocks.builder()
 *         .listener(new LockListener() {
 *             public void acquired(LockAcquired event) {
 *                 waits.record(event.waited());
 *             }
 *         })
 *         .build();
 * }</pre>
 *
 * <p>Many threads call the methods. The thread that locks or unlocks calls {@link #acquired}, {@link #notAcquired},
 * {@link #released} and {@link #forced} and waits for them, so they must be quick and must not lock. A thread that does
 * nothing else calls {@link #lost}, and another the other methods; if one of them blocks, it only delays the next call
 * of its thread.
 *
 * @since 0.1.0
 */
public interface LockListener {

    /**
     * Called when a thread or a handle begins to acquire a lock that it does not hold, by the thread that calls; not
     * for re-entries. For listeners that need the beginning as well, such as those that trace. If one request takes
     * several locks, this is called when it has been answered.
     *
     * @return what is told how this call ends, once, after the listeners; null, as by default, if nothing has to be
     */
    default @Nullable Acquiring acquiring(String lockName) {
        return null;
    }

    /** Called when a thread has acquired a lock that it did not hold; not for re-entries. */
    default void acquired(LockAcquired event) {}

    /** Called when a thread has given up acquiring a lock. */
    default void notAcquired(LockNotAcquired event) {}

    /**
     * Called when a thread has released a lock by its outermost unlock. A wait in a Condition is reported neither as a
     * release nor as an acquisition; the hold with which the thread returns from it is the one that is reported as
     * released.
     */
    default void released(LockReleased event) {}

    /**
     * Called when a hold has ended without its owner's unlock: once for each loss, after the lock's queries say so and
     * after {@link #acquired} has returned for that hold. Also called for a hold that was {@link #released} if the
     * client kept the lock by its {@link RedisLocks.Builder#residency residency} and finds it gone: for the last hold,
     * if Redis has not confirmed the lock since its unlock, so that the lock may have been gone before. Listeners that
     * count holds take the first of the two calls with a token for the end of that hold.
     */
    default void lost(LockLost loss) {}

    /**
     * Called when a hold has lasted for two thirds of its {@link RedisLocks.Builder#maxHold maxHold}: once for each
     * hold that is not released before.
     */
    default void expiring(LockExpiring event) {}

    /**
     * Called when this client has given up a lock that it kept by its {@link RedisLocks.Builder#residency residency}. A
     * kept lock that is lost is not reported here, but to {@link #lost} if a thread held it, or may have. If listeners
     * are so slow that very many of these events wait for them, further ones are left out, and counted in the log.
     */
    default void givenUp(LockGivenUp event) {}

    /** Called when a thread of this client has forced a lock open, by that thread. */
    default void forced(LockForced event) {}

    /** Called when Redis has confirmed renewals of holds. */
    default void renewed(LocksRenewed event) {}

    /** Called when Redis does not answer. A server that fails repeatedly within seconds is reported once. */
    default void outageBegan(RedisOutage outage) {}

    /** Called when Redis answers again, or another server has taken its place, after an outage that was reported. */
    default void outageEnded(RedisOutage outage) {}

    /**
     * A call for a lock that a listener wants to follow to its end. One of the methods is called once, by the thread
     * that tells the listeners of the end.
     *
     * @since 0.1.0
     */
    interface Acquiring {

        /** The lock was acquired. */
        void acquired(LockAcquired event);

        /** The call has ended without the lock. */
        void notAcquired(LockNotAcquired event);
    }
}
