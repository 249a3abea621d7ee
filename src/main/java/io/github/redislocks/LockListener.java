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
 * <p>Many threads call the methods. The thread that locks or unlocks itself calls {@link #acquiring},
 * {@link #acquired}, {@link #notAcquired}, {@link #released} and {@link #forced}, so these methods must be quick and
 * must not acquire locks. One thread calls only {@link #lost}, and another thread the other methods; a method that
 * blocks only delays the next calls by the same thread.
 *
 * @since 0.1.0
 */
public interface LockListener {

    /**
     * Called by the calling thread when a thread or a handle begins to acquire a lock that it does not hold; not for
     * re-entries. It is for listeners that need the beginning of a call as well as its end, such as tracing. If one
     * request acquires several locks, this method is called after the reply.
     *
     * @return an object that is notified once of the end of this call, after the listeners; null, the default, for none
     */
    default @Nullable Acquiring acquiring(String lockName) {
        return null;
    }

    /** Called when a thread or a handle has acquired a lock that it did not hold; not for re-entries. */
    default void acquired(LockAcquired event) {}

    /** Called when a call has ended without acquiring a lock. */
    default void notAcquired(LockNotAcquired event) {}

    /**
     * Called when a thread has released a lock by its outermost unlock, or a handle was released. A wait in a Condition
     * is reported neither as a release nor as an acquisition: the later release reports the token of the hold with
     * which the thread returned from the wait.
     */
    default void released(LockReleased event) {}

    /**
     * Called when a hold has ended without its owner's unlock: once for each loss, when the lock's queries already
     * report the loss, and after {@link #acquired} has returned for that hold.
     *
     * <p>This method may also be called for a hold for which {@link #released} was called. That happens if the client
     * keeps the lock by its {@link RedisLocksBuilder#residency residency}, finds that Redis no longer has it, and Redis
     * has not confirmed the lock since the last unlock: then the lock may have been lost before that unlock. Listeners
     * that count holds should take the first of the two calls with the same token for the end of the hold.
     */
    default void lost(LockLost loss) {}

    /**
     * Called when a hold has lasted for two thirds of its {@link RedisLocksBuilder#maxHold maxHold}, once for each such
     * hold.
     */
    default void expiring(LockExpiring event) {}

    /**
     * Called when this client has given up a lock that it kept by its {@link RedisLocksBuilder#residency residency}. If
     * a kept lock is lost, this method is not called; {@link #lost} is called if a thread held the lock, or may have
     * held it. If listeners are so slow that very many of these events wait for them, further events are dropped, and
     * their number is logged.
     */
    default void givenUp(LockGivenUp event) {}

    /** Called when a thread of this client has forced a lock open: {@link FencedLock#forceUnlock}. */
    default void forced(LockForced event) {}

    /** Called when Redis has confirmed renewals of holds; one call may report several renewals. */
    default void renewed(LocksRenewed event) {}

    /** Called when Redis does not answer. A server that fails repeatedly within seconds is reported once. */
    default void outageBegan(RedisOutage outage) {}

    /** Called when Redis answers again, or another server has taken its place, after an outage that was reported. */
    default void outageEnded(RedisOutage outage) {}

    /**
     * Follows one acquisition to its end. One of the two methods is called, once, by the thread that notifies the
     * listeners of that end.
     *
     * @since 0.1.0
     */
    interface Acquiring {

        /** Called when the acquisition has succeeded. */
        void acquired(LockAcquired event);

        /** Called when the acquisition has ended without the lock. */
        void notAcquired(LockNotAcquired event);
    }
}
