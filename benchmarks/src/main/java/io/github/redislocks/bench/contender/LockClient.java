package io.github.redislocks.bench.contender;

import java.util.List;

/** The part of a contender that one process has: its connections, and the locks that it makes. */
public interface LockClient extends AutoCloseable {

    /** A lock, for the calling thread. */
    Mutex mutex(String key);

    /** The locks of several keys as one, for the calling thread; of those that have such locks. */
    default Mutex mutex(List<String> keys) {
        throw new UnsupportedOperationException(library() + " has no locks of several keys");
    }

    /** Brings what the lock needs before its first use, once for all processes. */
    default void seed(String key) {}

    /** Where Redis has the lock while it is held; for those that renew. */
    default String redisKey(String key) {
        return key;
    }

    /** Whether the calling thread holds the lock, as far as the client can tell. */
    default boolean holds(String key) {
        return true;
    }

    /** How many holds were lost, as far as the client tells. */
    default long losses() {
        return 0;
    }

    /** The name with which the classes of the library begin. */
    default String library() {
        return "none.";
    }

    @Override
    void close();
}
