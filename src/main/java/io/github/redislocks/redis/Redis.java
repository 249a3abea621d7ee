package io.github.redislocks.redis;

import java.util.List;

/**
 * The port to one Redis: runs scripts, and subscribes to channels. Every call is bounded by the time that it is given,
 * in which waiting for a connection, connecting, writing and reading are all included.
 *
 * <p>An interrupt never ends a call early and is never lost: a call returns with the interrupt flag as it found it, or
 * set if the interrupt came meanwhile.
 */
public interface Redis extends AutoCloseable {

    /**
     * Runs one script and returns its reply.
     *
     * @throws RedisException.Unanswered if no reply came in time or the connection failed; it tells whether the script
     *     may have run, or may still run
     * @throws RedisException.Refused if the server answered with an error; the script changed nothing
     */
    Reply run(Call call, long timeoutNanos);

    /**
     * Runs many scripts in one pipeline, on a connection kept for the background work, so that renewals never wait
     * behind lock attempts. Calls of this method to one server take turns.
     *
     * @return one outcome per call, in the order of the calls; never throws for a failure of Redis
     */
    List<Outcome> runAll(List<Call> calls, long timeoutNanos);

    /**
     * Subscribes to a channel on a connection of its own and returns when the server has confirmed it.
     *
     * @throws RedisException as {@link #run}
     */
    Subscription subscribe(String channel, long timeoutNanos);

    /** Sends a message to a channel, on the connection of {@link #runAll}. Throws as {@link #run}. */
    void publish(String channel, String message, long timeoutNanos);

    /**
     * Waits until it is known which server a key is on; where there is only one, returns at once.
     *
     * @throws RedisException.Unanswered if nobody has said it by then
     */
    default void find(String key, long timeoutNanos) {}

    /**
     * Sets the listener that is told whenever calls are to go to another server, which may not know what the one before
     * had answered. By then no call goes to that one any more, and none has gone to the other: calls wait until the
     * listener returns. To be said before the first call; told by a thread that must not wait.
     */
    default void onMoved(Runnable listener) {}

    /**
     * Whether waiters stand in one queue, so that a release can hand the lock to the first. If not, they are told that
     * the lock is free, by a message with the token 0, and ask for it.
     */
    default boolean hasLines() {
        return true;
    }

    /** Whether one call may name the keys of several locks. */
    default boolean hasOneSlot() {
        return hasLines();
    }

    /** The longest time, in ms, for which it can promise to remember anything. */
    default long memoryMillis() {
        return Long.MAX_VALUE;
    }

    /** The servers that keys may be on now, each to be asked by itself. */
    default List<? extends Redis> servers() {
        return List.of(this);
    }

    /** The names of the masters over which the server watches, if it is a Sentinel and says so; else none. */
    default List<String> mastersOfSentinel(long timeoutNanos) {
        return List.of();
    }

    /**
     * The name of the server to which a call with this first key goes now. Where there are several, each has a clock of
     * its own, its batches are sent apart from those of others, and one may be away while others answer.
     */
    default String serverOf(String key) {
        return address();
    }

    /** The server as people write it, without secrets: {@code localhost:6379}. */
    String address();

    /**
     * Closes all connections, those in use too. A call under way then fails as {@link RedisException.Unanswered}, and
     * so does every later one.
     */
    @Override
    void close();

    /** A running subscription to one channel. */
    interface Subscription extends AutoCloseable {

        /**
         * Waits, for as long as it takes, for the next message.
         *
         * @throws RedisException.Unanswered once the connection is broken or closed
         */
        String next();

        /** Ends the subscription at once and from any thread; a {@link #next} under way fails. */
        @Override
        void close();
    }
}
