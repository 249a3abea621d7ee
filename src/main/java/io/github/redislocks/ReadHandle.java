package io.github.redislocks;

/**
 * A hold of a {@link RedisReadLock} that belongs to no thread. {@link RedisReadLock#acquire()} returns one.
 * {@link Handle} says how to use it, with these differences: other readers, threads and handles, may have the lock at
 * the same time. A thread that has a handle and locks the write lock waits for itself. {@link #releaseAfter} and
 * {@link #releaseAfterAsync} throw {@link UnsupportedOperationException}.
 *
 * <pre>{@code
 * try (ReadHandle held = prices.readLock().acquire()) {
 *     return cache.get(article, held.version());
 * }
 * }</pre>
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface ReadHandle extends Handle {

    /** The name of the lock. */
    String name();

    /**
     * The token of the last writer, which is the version of what this hold reads: it grows with each writer.
     *
     * @throws LockLostException if the hold was lost
     * @throws IllegalMonitorStateException if the handle was released
     */
    long version();
}
