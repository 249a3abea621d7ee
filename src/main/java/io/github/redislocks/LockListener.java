package io.github.redislocks;

import org.jspecify.annotations.Nullable;

/**
 * A listener for the events of the locks of one {@link RedisLocks}. Override the methods that you need; all methods do
 * nothing by default, also those that later versions may add. An exception from a method is logged and has no other
 * effect.
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
 * <p>Many threads call the methods. The thread that locks or unlocks calls {@link #acquiring}, {@link #acquired},
 * {@link #notAcquired}, {@link #released} and {@link #forced}, so these methods must be quick and must not acquire
 * locks. One background thread calls {@link #lost}, and another one calls the other methods. A method that blocks
 * delays only the further calls by the same thread.
 *
 * @since 0.1.0
 */
public interface LockListener {

    /**
     * Called when a thread or a handle begins to acquire a lock that it does not hold, by the thread of that call. Not
     * called for re-entries. This method is for listeners that need the beginning of a call as well as its end, such as
     * tracing. If one request acquires several locks, the method is called after the reply.
     *
     * @return an object that is notified of the end of this call, once, after the listeners; null, the default, if
     *     there is none
     */
    default @Nullable Acquiring acquiring(String lockName) {
        return null;
    }

    /** Called when a thread or a handle has acquired a lock that it did not hold. Not called for re-entries. */
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
     * Called once for each loss: a hold has ended without its owner's unlock. At that time the methods of the lock
     * already report the loss, and {@link #acquired} has returned for that hold.
     *
     * <p>With a {@link RedisLocksBuilder#residency residency}, this method may also be called for a hold for which
     * {@link #released} was called. A client that keeps a lock may find that the lock is gone from Redis. If Redis has
     * not confirmed the lock since the last unlock, the lock may have been lost before that unlock, so the loss is
     * reported. A listener that counts holds should take the first of two calls with the same token as the end of the
     * hold.
     */
    default void lost(LockLost loss) {}

    /** Called once for a hold that has lasted for two thirds of its {@link RedisLocksBuilder#maxHold maxHold}. */
    default void expiring(LockExpiring event) {}

    /**
     * Called when this client has given up a lock that it kept by its {@link RedisLocksBuilder#residency residency}. If
     * a kept lock is lost, this method is not called; {@link #lost} is called if a thread held the lock, or may have
     * held it. If listeners are so slow that too many of these events wait, further events are dropped, and their
     * number is logged.
     */
    default void givenUp(LockGivenUp event) {}

    /** Called when a thread of this client has forced a lock open: {@link FencedLock#forceUnlock}. */
    default void forced(LockForced event) {}

    /** Called when Redis has confirmed renewals of holds. One call may report several renewals. */
    default void renewed(LocksRenewed event) {}

    /** Called when Redis does not answer. Failures of a server within a few seconds are reported once. */
    default void outageBegan(RedisOutage outage) {}

    /** Called at the end of a reported outage: Redis answers again, or another server has replaced it. */
    default void outageEnded(RedisOutage outage) {}

    /**
     * Is notified of the end of one acquisition. One of the two methods is called, once, by the thread that also
     * notifies the listeners of the end.
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
