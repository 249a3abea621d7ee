package io.github.redislocks;

import io.github.redislocks.actions.Candidacy;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.locks.ReadWriteLock;

/**
 * A factory of locks by name. {@link RedisLocks} implements it on Redis. Tests and frameworks may give an application
 * another implementation, or a wrapper of {@link RedisLocks}.
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
     * Returns the lock with the given name, with the settings of this factory. The same as
     * {@link #reentrantLock(String, LockOptions)} with {@link LockOptions#defaults()}.
     *
     * @param name 1 to 4096 bytes in UTF-8; any well-formed text
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     */
    FencedLock reentrantLock(String name);

    /**
     * Returns the lock with the given name and options. Sends nothing to Redis. All lock objects with the same name are
     * one lock, in all JVMs that use the same Redis and key prefix; the options belong to the object.
     *
     * @param name 1 to 4096 bytes in UTF-8; any well-formed text
     * @throws IllegalArgumentException if the name or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException for a fair lock on a quorum
     */
    FencedLock reentrantLock(String name, LockOptions options);

    /**
     * Returns the locks with the given names as one lock, with the settings of this factory. The same as
     * {@link #multiLock(Collection, LockOptions)} with {@link LockOptions#defaults()}.
     *
     * @param names at least one name, each as for {@link #reentrantLock(String)}
     * @throws IllegalArgumentException if there is no name, or a name cannot work
     * @throws IllegalStateException if this is closed
     */
    MultiLock multiLock(Collection<String> names);

    /**
     * Returns the locks with the given names as one lock, with the given options. Sends nothing to Redis. An owner has
     * all of the locks or none. Callers may name the locks in any order without a deadlock: see {@link MultiLock}.
     *
     * @param names at least one name, each as for {@link #reentrantLock(String)}; a repeated name counts once
     * @throws IllegalArgumentException if there is no name, or a name or the options cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException for fair locks on a quorum
     */
    MultiLock multiLock(Collection<String> names, LockOptions options);

    /**
     * Returns the read-write lock with the given name, with the settings of this factory. The same as
     * {@link #readWriteLock(String, LockOptions)} with {@link LockOptions#defaults()}.
     *
     * @param name 1 to 4096 bytes in UTF-8; any well-formed text
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException on a quorum
     */
    ReadWriteLock readWriteLock(String name);

    /**
     * Returns the read-write lock with the given name and options. Sends nothing to Redis. Its write lock is the lock
     * that {@link #reentrantLock(String, LockOptions)} returns. A {@link LockOptions#maxHold} limits write holds only;
     * a {@link LockOptions#residency} keeps the lock for readers only.
     *
     * @param name 1 to 4096 bytes in UTF-8; any well-formed text
     * @throws IllegalArgumentException if the name or the options cannot work, or the options have a
     *     {@link LockOptions#fixedLease}
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException on a quorum
     */
    ReadWriteLock readWriteLock(String name, LockOptions options);

    /**
     * Returns a pool of permits, of which at most {@code size} are held at a time, over all JVMs. Sends nothing to
     * Redis.
     *
     * @param name 1 to 4096 bytes in UTF-8; any well-formed text
     * @param size how many permits there are, 1 to 1,000; the same in all clients
     * @throws IllegalArgumentException if the name or the size cannot work
     * @throws IllegalStateException if this is closed
     * @throws UnsupportedOperationException on a quorum
     */
    Permits permits(String name, int size);

    /**
     * Shows who holds the lock with the given name and who waits for it, over all JVMs. Asks Redis.
     *
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    LockInspection inspect(String name);

    /**
     * Makes a candidate for leader. The same as {@link #leadership(String, LeaderWork, LeaderOptions)} with
     * {@link LeaderOptions#defaults()}.
     *
     * @throws IllegalArgumentException if the name cannot work
     * @throws IllegalStateException if this is closed
     */
    default Leadership leadership(String name, LeaderWork work) {
        return leadership(name, work, LeaderOptions.defaults());
    }

    /**
     * Makes a candidate for leader, and returns at once. The candidate competes for the lock with the given name until
     * the returned object is closed. Whenever it acquires the lock, it leads for a term: the work runs on a separate
     * thread. At most one candidate for a name leads at a time, over all JVMs. Candidates that wait need no thread.
     *
     * <p>The lock is the one that {@link #reentrantLock} returns for that name. Two candidates for one name in the same
     * process compete as candidates in two processes do.
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
                new Candidacy.Electorate(
                        Leadership.SHARED, reentrantLock(name, options.lock())::acquireAsync, this::isClosed));
    }

    /**
     * The id of this client in Redis and in the log: {@code host:pid:random}, or {@code host:pid:name.random} if the
     * client has a name.
     */
    String clientId();

    /** Whether one of the close methods has been called. */
    boolean isClosed();

    /**
     * Closes after the work under locks has ended. From the call on, no lock can be acquired, threads that wait for a
     * lock get an {@link IllegalStateException}, and the work of leaders is asked to stop. Owners that hold locks may
     * finish within the given time. Then this method does what {@link #close()} does. So when a service stops, only
     * work that takes longer than the given time loses its lock.
     *
     * @param drain how long owners may keep their locks; zero to close at once, as {@link #close()} does
     * @throws IllegalArgumentException if the time is negative
     */
    void close(Duration drain);

    /**
     * Closes at once: refuses new calls, ends waits with {@link IllegalStateException}, reports locks that are still
     * held as lost ({@link LockLost.Reason#CLOSED}), and releases them. A second call returns when the first has
     * finished.
     */
    @Override
    void close();
}
