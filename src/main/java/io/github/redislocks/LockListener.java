package io.github.redislocks;

/**
 * Hears what happens to the locks of one {@link RedisLocks}. Override what is of interest; later versions may have more
 * methods, which do nothing unless overridden. What a method throws is logged and changes nothing.
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
 * <p>The methods are called by many threads. {@link #acquired}, {@link #notAcquired} and {@link #released} are called
 * by the thread that locks or unlocks, which waits for them: they must be quick, and must not lock. All others are
 * called by a thread that does nothing else; one that blocks only delays the next.
 *
 * @since 0.1.0
 */
public interface LockListener {

    /** A thread has acquired a lock that it did not hold. Re-entries are not told. */
    default void acquired(LockAcquired event) {}

    /** A thread has given up acquiring a lock. */
    default void notAcquired(LockNotAcquired event) {}

    /**
     * A thread has released a lock altogether, by its outermost unlock. A wait in a Condition is told neither as a
     * release nor as an acquisition; the hold that it comes back with is the one that is told as released.
     */
    default void released(LockReleased event) {}

    /** A hold has ended without its owner's unlock. Called once for each loss, after the queries of the lock turned. */
    default void lost(LockLost loss) {}

    /** Redis has confirmed holds anew. */
    default void renewed(LocksRenewed event) {}

    /** Redis does not answer. Servers that fail again and again within seconds are told of once. */
    default void outageBegan(RedisOutage outage) {}

    /** Redis answers again, or another server has taken its place, after an outage that was told of. */
    default void outageEnded(RedisOutage outage) {}
}
