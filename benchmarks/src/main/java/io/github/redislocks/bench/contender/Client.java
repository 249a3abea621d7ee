package io.github.redislocks.bench.contender;

/** What one process has of a contender: its connections, and the locks that it makes. */
public interface Client extends AutoCloseable {

    /** A lock, for the calling thread. */
    Mutex mutex(String key);

    /** Brings what the lock needs before its first use, once for all processes. */
    default void seed(String key) {}

    @Override
    void close();
}
