package io.github.redislocks.redis;

import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The port to one Redis, which is one server or several: runs scripts, and subscribes to channels. Every call ends
 * within its timeout, which includes waiting for a connection, connecting, writing and reading.
 *
 * <p>An interrupt never ends a call early and is never lost: when a call returns, the interrupt flag is as it was
 * before, or set if the interrupt came meanwhile.
 */
public interface Redis extends AutoCloseable {

    /**
     * Runs one script and returns its reply.
     *
     * @throws RedisException.Unanswered if no reply came in time or the connection failed; the exception says whether
     *     the script may have run, or may still run
     * @throws RedisException.Refused if the server answered with an error; the script changed nothing
     */
    Reply run(Call call, long timeoutNanos);

    /**
     * Runs many scripts in one pipeline, on a connection for background work, so that renewals never wait for
     * acquisitions. Concurrent calls of this method for one server run one after the other.
     *
     * @return one outcome for each call, in the order of the calls; a failure of Redis is an outcome, not an exception
     */
    List<Outcome> runAll(List<Call> calls, long timeoutNanos);

    /**
     * Sends calls in one pipeline without waiting. This is possible if {@link #connectQuickly} has made a connection to
     * the server, and no calls are under way on that connection.
     *
     * @param server the run id of the server; empty if the server reports none
     * @param receiver called once, perhaps before this method returns, with one outcome for each call in the order of
     *     the calls, or with null if the connection broke: then each call may have run. The receiver must not wait
     * @return false if nothing was sent; the receiver is not called then
     */
    default boolean submit(
            String server, List<Call> calls, long timeoutNanos, Consumer<@Nullable List<Outcome>> receiver) {
        return false;
    }

    /**
     * Starts to connect for {@link #submit}, without waiting. Does nothing if there is a connection, or if this Redis
     * does not support {@link #submit}.
     */
    default void connectQuickly(long timeoutNanos) {}

    /**
     * Subscribes to a channel on a separate connection, and waits until the server has confirmed the subscription.
     *
     * @throws RedisException as {@link #run}
     */
    Subscription subscribe(String channel, long timeoutNanos);

    /**
     * Subscribes as {@link #subscribe} does, and watches the keys of renewals. At its end, a call for
     * {@link Request#renews renewals} reads the keys of its holds. If another client sets, deletes, evicts or flushes
     * such a key later, the server reports the key, once until the key is read again. A report is only a hint: the key
     * may be unchanged, and a hint may be lost with its connection.
     *
     * @throws RedisException as {@link #run} does; {@code Refused} if the server does not report changes, or not to
     *     this user
     * @throws UnsupportedOperationException if this Redis is a quorum
     */
    default Subscription watch(String channel, Watcher watcher, long timeoutNanos) {
        throw new UnsupportedOperationException(address() + " does not report changed keys");
    }

    /** Publishes a message on a channel, on the connection of {@link #runAll}. Throws as {@link #run} does. */
    void publish(String channel, String message, long timeoutNanos);

    /**
     * Waits until the server of a key is known. Returns at once if there is only one server.
     *
     * @throws RedisException.Unanswered if the server is still unknown when the time is over
     */
    default void find(String key, long timeoutNanos) {}

    /**
     * Sets the listener that is called before calls go to another server than before, which may lack writes that the
     * previous server confirmed. Until the listener returns, calls go to neither server, but wait. Set the listener
     * before the first call. The listener must not wait.
     */
    default void onMoved(Runnable listener) {}

    /**
     * Whether all waiters of a lock are in one queue, so that a release can grant the lock to the first of them.
     * Otherwise a message with the token 0 tells the waiters that the lock is free, and they ask for it.
     */
    default boolean hasLines() {
        return true;
    }

    /** Whether one call may name the keys of several locks. */
    default boolean hasOneSlot() {
        return hasLines();
    }

    /** For how many ms this Redis certainly remembers a write. A hold must not last longer without a renewal. */
    default long memoryMillis() {
        return Long.MAX_VALUE;
    }

    /** The servers that may have keys at present, each as a separate Redis. */
    default List<? extends Redis> servers() {
        return List.of(this);
    }

    /** If the server is a Sentinel, the names of the masters that it monitors; otherwise empty. */
    default List<String> mastersOfSentinel(long timeoutNanos) {
        return List.of();
    }

    /**
     * The name of the server to which a call with this first key goes at present. Each server has its own clock and
     * gets its own batches, and may be away while others answer.
     */
    default String serverOf(String key) {
        return address();
    }

    /** The number of open connections to the servers that have the locks. Sends no request. */
    default int connections() {
        return 0;
    }

    /** The address of the server for messages, without secrets: {@code localhost:6379}. */
    String address();

    /**
     * Closes all connections, also those in use. Calls under way and later calls fail with
     * {@link RedisException.Unanswered}.
     */
    @Override
    void close();

    /** Receives the names of keys that another client has changed. */
    @FunctionalInterface
    interface Watcher {

        /**
         * Called when another client has changed a key. Must not wait.
         *
         * @param key the key; null if any key may have changed: all were flushed, or reports may have been lost
         */
        void changed(@Nullable String key);
    }

    /** A running subscription to one channel. */
    interface Subscription extends AutoCloseable {

        /**
         * Waits without a time limit for the next message.
         *
         * @throws RedisException.Unanswered once the connection is broken or closed
         */
        String next();

        /**
         * Asks the server whether it still has the subscription, without waiting for the reply. If the previous ping
         * has been unanswered for {@code patienceNanos}, closes the subscription. Called by one thread at a time.
         */
        default void ping(long patienceNanos) {}

        /** Ends the subscription at once, so that a {@link #next} under way fails. Any thread may call this. */
        @Override
        void close();
    }
}
