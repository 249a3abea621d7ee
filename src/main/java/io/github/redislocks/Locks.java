package io.github.redislocks;

import java.time.Duration;
import java.util.Collection;

/**
 * A factory of locks by name. {@link RedisLocks} implements it on Redis; tests and frameworks may give an application
 * another implementation, or one that wraps it.
 *
 * <pre>{@code
 * class Shop {
 *     private final Locks locks;
 *
 *     void sell(String sku) throws SoldOutException {
 *         locks.reentrantLock("inventory:" + sku).runWithLock(() -> takeOne(sku));
 *     }
 * }
 * }</pre>
 *
 * <p>{@link LeasedLock} has the ways to take a lock. Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface Locks extends AutoCloseable {

    /**
     * Returns the lock with a name, with the options of this factory: {@link #reentrantLock(String, LockOptions)}.
     *
     * @param name 1 to 4096 bytes in UTF-8; any well-formed text
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     */
    FencedLock reentrantLock(String name);

    /**
     * Returns the lock with a name, with options of its own; sends nothing. All lock objects with the same name are one
     * lock, in all JVMs that use the same Redis and key prefix; the options belong to the object.
     *
     * @param name 1 to 4096 bytes in UTF-8; any well-formed text
     * @throws IllegalArgumentException if the name or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException for a fair lock on a quorum
     */
    FencedLock reentrantLock(String name, LockOptions options);

    /**
     * Returns the locks with several names as one, with the options of this factory: {@link #multiLock(Collection,
     * LockOptions)}.
     *
     * @param names at least one, each as for {@link #reentrantLock(String)}
     * @throws IllegalArgumentException if there is no name, or one cannot work
     * @throws IllegalStateException if this is closed
     */
    MultiLock multiLock(Collection<String> names);

    /**
     * Returns the locks with several names as one, with options of its own; sends nothing. An owner has all locks or
     * none. Callers do not wait for each other in a circle, in whatever order and how often they name the locks.
     *
     * @param names at least one, each as for {@link #reentrantLock(String)}
     * @throws IllegalArgumentException if there is no name, or one or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException for fair locks on a quorum
     */
    MultiLock multiLock(Collection<String> names, LockOptions options);

    /**
     * Shows who holds the lock of a name and who waits for it, over all JVMs. Asks Redis.
     *
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    LockInspection inspect(String name);

    /**
     * Runs for leader of a name, with default options: {@link #leadership(String, LeaderWork, LeaderOptions)}.
     *
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     */
    default Leadership leadership(String name, LeaderWork work) {
        return leadership(name, work, LeaderOptions.defaults());
    }

    /**
     * Runs for leader of a name until it is closed: whenever it has the lock of that name, the work leads for a term,
     * on a thread of its own. Returns at once. At most one candidate leads at a time, here and in all other JVMs; those
     * that wait need no thread.
     *
     * <p>The lock is the same as {@link #reentrantLock} has under that name. Two candidates of one name in one process
     * are rivals like any others.
     *
     * @throws IllegalArgumentException if the name or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException for a fair lock on a quorum
     */
    default Leadership leadership(String name, LeaderWork work, LeaderOptions options) {
        return Leadership.run(
                name,
                work,
                options,
                Leadership.SHARED,
                reentrantLock(name, options.lock())::acquireAsync,
                this::isClosed);
    }

    /** The id of this client in Redis and in the log: {@code host:pid:random}, or {@code host:pid:name.random}. */
    String clientId();

    /** Whether {@link #close()} has begun. */
    boolean isClosed();

    /**
     * Closes after the work under locks has ended: refuses at once to acquire locks, also to threads that wait; lets
     * threads that hold locks finish within the given time; and then does what {@link #close()} does. For a service
     * that stops: holders finish, and no hold is lost unless its work takes longer. The work of leaders is told to
     * stop.
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
