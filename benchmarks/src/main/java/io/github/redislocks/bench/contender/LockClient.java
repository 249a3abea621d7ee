package io.github.redislocks.bench.contender;

import java.util.List;
import java.util.concurrent.locks.ReadWriteLock;

/** The part of a contender that one process has: its connections, and the locks that it makes. */
public interface LockClient extends AutoCloseable {

    /** Makes a lock for the calling thread. */
    Mutex mutex(String key);

    /** Makes the locks of several keys as one lock, for the calling thread. For contenders with such locks. */
    default Mutex mutex(List<String> keys) {
        throw new UnsupportedOperationException(library() + " has no locks of several keys");
    }

    /** Makes a read-write lock. For contenders that mix reading and writing. */
    default ReadWriteLock readWriteLock(String key) {
        throw new UnsupportedOperationException(library() + " has no read-write lock");
    }

    /** Makes one of several permits for the calling thread. For contenders with permits. */
    default Mutex permit(String key) {
        throw new UnsupportedOperationException(library() + " has no permits");
    }

    /** Makes what the lock needs in Redis before its first use. Called once for all processes. */
    default void seed(String key) {}

    /** The key of a held lock in Redis. For contenders that renew. */
    default String redisKey(String key) {
        return key;
    }

    /** Whether the calling thread holds the lock, as far as the client can tell. */
    default boolean holds(String key) {
        return true;
    }

    /** The number of lost holds, as far as the client reports them. */
    default long losses() {
        return 0;
    }

    /** The prefix of the names of the library's classes. */
    default String library() {
        return "none.";
    }

    @Override
    void close();
}
