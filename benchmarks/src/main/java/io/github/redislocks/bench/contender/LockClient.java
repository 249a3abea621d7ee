package io.github.redislocks.bench.contender;

/** What one process has of a contender: its connections, and the locks that it makes. */
public interface LockClient extends AutoCloseable {

    /** A lock, for the calling thread. */
    Mutex mutex(String key);

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
