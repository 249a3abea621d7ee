package io.github.redislocks;

import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A factory of locks by name. {@link RedisLocks} implements it on Redis; tests and frameworks may give an application
 * another implementation, or one that wraps it.
 *
 * <pre>{@code
 * class Shop {
 *     private final Locks locks;
 *
 *     void sell(String sku) throws SoldOutException {
 *         locks.runWithLock("inventory:" + sku, () -> takeOne(sku));
 *     }
 * }
 * }</pre>
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface Locks extends AutoCloseable {

    /**
     * Returns the lock with a name; sends nothing. All lock objects with the same name are one lock, in all JVMs that
     * use the same Redis and key prefix.
     *
     * @param name 1 to 4096 bytes in UTF-8; any well-formed text
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     */
    FencedLock reentrantLock(String name);

    /**
     * Returns the lock with a name, which serves threads of all JVMs in order of arrival. It is the same lock as
     * {@link #reentrantLock(String)} with that name: only the way of waiting differs.
     *
     * @param name as there
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException on a quorum
     */
    FencedLock fairLock(String name);

    /**
     * Returns the lock with a name, with settings of its own. It is the same lock as {@link #reentrantLock(String)}
     * with that name.
     *
     * @param name as there
     * @throws IllegalArgumentException if the name or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException for a fair lock on a quorum
     */
    FencedLock lock(String name, LockOptions options);

    /**
     * Returns which thread holds the lock with a name and which threads wait for it, in all JVMs. Asks Redis.
     *
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    LockInspection inspect(String name);

    /**
     * Runs an action under the lock with a name, as {@link FencedLock#withLock}.
     *
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws LockUnavailableException if Redis stays away
     */
    default <T extends @Nullable Object> T withLock(String name, Supplier<T> action) {
        return reentrantLock(name).withLock(action);
    }

    /**
     * Runs an action that may throw a checked exception under the lock with a name, as {@link FencedLock#callWithLock}.
     *
     * @throws E if the action throws it
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws LockUnavailableException if Redis stays away
     */
    default <T extends @Nullable Object, E extends Exception> T callWithLock(String name, LockedCall<T, E> action)
            throws E {
        return reentrantLock(name).callWithLock(action);
    }

    /**
     * Runs an action that returns nothing under the lock with a name, as {@link FencedLock#runWithLock}.
     *
     * @throws E if the action throws it
     * @throws LockLostException if the lock was lost before the action had ended
     * @throws LockUnavailableException if Redis stays away
     */
    default <E extends Exception> void runWithLock(String name, LockedRun<E> action) throws E {
        reentrantLock(name).runWithLock(action);
    }

    /** The id of this client in Redis and in the log, such as {@code host:pid:random}. */
    String clientId();

    /** Whether {@link #close()} has begun. */
    boolean isClosed();

    /**
     * Closes after the work under locks has ended: refuses at once to acquire locks, also to threads that wait; lets
     * threads that hold locks finish within the given time; and then does what {@link #close()} does. For a service
     * that stops: holders finish, and no hold is lost unless its work takes longer.
     *
     * @param drain how long holders may go on; zero is the same as {@link #close()}
     * @throws IllegalArgumentException if it is negative
     */
    void close(Duration drain);

    /**
     * Ends all work: refuses new calls, wakes waiting ones with {@link IllegalStateException}, reports what is still
     * held as lost ({@link LockLost.Reason#CLOSED}), and releases it. A second call, also at the same time, returns
     * when the first has done that.
     */
    @Override
    void close();
}
