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
     * Runs many scripts in one pipeline, on a connection that is reserved for background work, so that renewals never
     * wait behind lock attempts. Concurrent calls of this method for one server run one after the other.
     *
     * @return one outcome per call, in the order of the calls; never throws for a failure of Redis
     */
    List<Outcome> runAll(List<Call> calls, long timeoutNanos);

    /**
     * Sends calls in one pipeline and returns at once, if that needs no waiting: if {@link #connectQuickly} has made a
     * connection to this server, and no calls are under way on it.
     *
     * @param server the run id of the server; empty for one that reports none
     * @param receiver called once, before this returns or later, by a thread that must not wait: with an outcome per
     *     call, in the order of the calls; or with null if the connection broke, so that each call may have run or not
     * @return false if nothing was sent; then the receiver is not called
     */
    default boolean submit(
            String server, List<Call> calls, long timeoutNanos, Consumer<@Nullable List<Outcome>> receiver) {
        return false;
    }

    /**
     * Starts to connect for {@link #submit}, if there is no connection yet and this Redis supports one. Does not wait.
     */
    default void connectQuickly(long timeoutNanos) {}

    /**
     * Subscribes to a channel on a connection of its own, and returns when the server has confirmed the subscription.
     *
     * @throws RedisException as {@link #run}
     */
    Subscription subscribe(String channel, long timeoutNanos);

    /**
     * Subscribes as {@link #subscribe} does. From then on the server also reports each key that a call for
     * {@link Request#renews renewals} has read at its end and that another client sets, deletes, evicts or flushes
     * later. The server reports a key once, until it is read again. A report is only a hint: the key may be unchanged,
     * and a hint may be lost with its connection.
     *
     * @throws RedisException as {@link #run}; a refusal if the server does not report changes, or does not report them
     *     to this user
     * @throws UnsupportedOperationException if there are several servers that vote
     */
    default Subscription watch(String channel, Watcher watcher, long timeoutNanos) {
        throw new UnsupportedOperationException(address() + " does not report changed keys");
    }

    /** Sends a message to a channel, on the connection of {@link #runAll}. Throws as {@link #run}. */
    void publish(String channel, String message, long timeoutNanos);

    /**
     * Waits until the server of a key is known; returns at once if there is only one server.
     *
     * @throws RedisException.Unanswered if the server is still unknown when the time is over
     */
    default void find(String key, long timeoutNanos) {}

    /**
     * Sets the listener that is called whenever calls are about to go to another server, which may not have all writes
     * that the previous one confirmed. While the listener runs, calls go neither to the previous server nor to the new
     * one: they wait until the listener returns. Call this before the first call; the listener must not wait.
     */
    default void onMoved(Runnable listener) {}

    /**
     * Whether waiters stand in one queue, so that a release can grant the lock to the first of them. If not, a message
     * with the token 0 says that the lock is free, and the waiters ask for it.
     */
    default boolean hasLines() {
        return true;
    }

    /** Whether one call may name the keys of several locks. */
    default boolean hasOneSlot() {
        return hasLines();
    }

    /** For how many ms this Redis certainly remembers a write. */
    default long memoryMillis() {
        return Long.MAX_VALUE;
    }

    /** The servers that may have keys now, each as a Redis of its own. */
    default List<? extends Redis> servers() {
        return List.of(this);
    }

    /** The names of the masters that the server monitors, if it is a Sentinel that reports them; otherwise empty. */
    default List<String> mastersOfSentinel(long timeoutNanos) {
        return List.of();
    }

    /**
     * The name of the server to which a call with this first key goes now. If there are several servers, each has a
     * clock of its own, gets batches of its own, and may be away while others answer.
     */
    default String serverOf(String key) {
        return address();
    }

    /**
     * How many connections to the servers that have the locks are open, as far as this client knows. Sends no request.
     */
    default int connections() {
        return 0;
    }

    /** The address of the server for people, without secrets: {@code localhost:6379}. */
    String address();

    /**
     * Closes all connections, also those in use. Calls under way and all later calls fail as
     * {@link RedisException.Unanswered}.
     */
    @Override
    void close();

    /** Receives the names of keys that another client has changed. */
    @FunctionalInterface
    interface Watcher {

        /**
         * Another client has changed a key. Must not wait.
         *
         * @param key the key; null if any key may have changed, since all were flushed or the watch was interrupted
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
         * Asks the server whether the subscription exists there too, without waiting for the reply. Ends the
         * subscription if the previous question has had no reply for {@code patienceNanos}. Called by one thread at a
         * time.
         */
        default void ping(long patienceNanos) {}

        /** Ends the subscription at once; a {@link #next} under way fails. Called by any thread. */
        @Override
        void close();
    }
}
