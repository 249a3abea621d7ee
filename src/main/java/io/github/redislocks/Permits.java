package io.github.redislocks;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A pool of permits, of which at most {@link #size()} are held at a time, over all JVMs: a semaphore whose permits
 * cannot leak. Get a pool by {@link Locks#permits}.
 *
 * <pre>{@code
 * Permits encoders = locks.permits("encoder", 8);
 * try (PermitHandle permit = encoders.acquire()) {
 *     encode(film, permit.number());
 * }
 * }</pre>
 *
 * <p><b>How permits end.</b> A handle's permits are renewed while its process lives, and are free again when the handle
 * is closed, or a lease after its process died. A handle whose permits could not be renewed in time is <em>lost</em>:
 * {@link Handle#lost()} completes before anybody else can get the permits, and {@link Handle#ensureHeld()} throws.
 *
 * <p><b>Order.</b> Callers of all JVMs are served in the order of their arrival at Redis. A caller that wants many
 * permits is not overtaken by callers that want few: they wait behind it, even if permits are free. A try that does not
 * wait gets permits only if nobody waits.
 *
 * <p><b>The size</b> is kept in Redis. The first client that uses a pool sets the size; a client that names another one
 * gets an {@link IllegalStateException}. {@link #resize} changes it for all clients: an object that has been used with
 * the former size goes on, and an object that is made later has to name the new size. Redis forgets the size of a pool
 * that nobody has used for the time of {@link RedisLocksBuilder#tokenMemory}, by default about a day.
 *
 * <p>The permits and a lock of the same name have nothing to do with each other. A quorum offers no permits, and
 * {@link RedisLocksBuilder#watchDeletions} does not watch them.
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface Permits {

    /** The name of the pool. */
    String name();

    /**
     * Acquires one permit, and waits for it.
     *
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws IllegalStateException if the {@link Locks} is closed, or the size is not the size in Redis
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    default PermitHandle acquire() throws InterruptedException {
        return acquire(1);
    }

    /**
     * Acquires several permits at once, and waits for them. Holds none while it waits, so that callers cannot wait for
     * each other in a circle.
     *
     * @param count how many; at least 1, at most the size
     * @throws IllegalArgumentException if the count is out of this range; nothing is sent
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws IllegalStateException if the {@link Locks} is closed, the size is not the size in Redis, or the count is
     *     greater than the size in Redis
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    PermitHandle acquire(int count) throws InterruptedException;

    /**
     * Acquires one permit if it becomes free within the given time.
     *
     * @param wait how long to wait; zero or less to take a free permit only, if nobody waits
     * @return the handle; empty if no permit was free
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws IllegalStateException as for {@link #acquire(int)}
     * @throws LockUnavailableException if it is unknown whether a permit is free
     */
    default Optional<PermitHandle> tryAcquire(Duration wait) throws InterruptedException {
        return tryAcquire(1, wait);
    }

    /**
     * Acquires several permits at once if they become free within the given time.
     *
     * @param count how many; at least 1, at most the size
     * @param wait how long to wait; zero or less to take free permits only, if nobody waits
     * @return the handle; empty if too few permits were free
     * @throws IllegalArgumentException if the count is out of this range; nothing is sent
     * @throws InterruptedException if the thread is interrupted on entry or while it waits; nothing is left in Redis
     * @throws IllegalStateException as for {@link #acquire(int)}
     * @throws LockUnavailableException if it is unknown whether permits are free
     */
    Optional<PermitHandle> tryAcquire(int count, Duration wait) throws InterruptedException;

    /**
     * Acquires permits without blocking a thread; {@link LeasedLock#acquireAsync()} says how to use the future.
     *
     * @param count how many; at least 1, at most the size
     * @throws IllegalArgumentException if the count is out of this range; nothing is sent
     * @throws IllegalStateException if the {@link Locks} is closed
     */
    CompletableFuture<PermitHandle> acquireAsync(int count);

    /**
     * Acquires permits as {@link #acquireAsync} does, if they become free within the given time.
     *
     * @param count how many; at least 1, at most the size
     * @param wait how long to wait; zero or less to take free permits only, if nobody waits
     * @return a future of the handle, or of empty if too few permits were free
     * @throws IllegalArgumentException if the count is out of this range; nothing is sent
     * @throws IllegalStateException if the {@link Locks} is closed
     */
    CompletableFuture<Optional<PermitHandle>> tryAcquireAsync(int count, Duration wait);

    /**
     * How many permits there are, free or not. Asks Redis.
     *
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    default int size() {
        return inspect().size();
    }

    /**
     * How many permits nobody has. Asks Redis. The number may be out of date when it arrives, and says nothing of the
     * order of those who wait.
     *
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    default int available() {
        return inspect().available();
    }

    /**
     * Shows who has permits and who waits for some, over all JVMs. Asks Redis.
     *
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    PermitsInspection inspect();

    /**
     * Changes the number of permits for all clients. If there are more than before, waiters are served at once. If
     * there are fewer, all permits that are held stay valid until they are released, and nobody gets permits before
     * fewer than the new size are held.
     *
     * @return the previous size; the size that this object was made for if Redis knew none
     * @throws IllegalArgumentException if the size is less than 1 or greater than 1,000; nothing is sent
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis does not answer; the size may have been changed
     */
    int resize(int size);
}
