package io.github.redislocks.redis;

import java.util.List;

/**
 * Access to one server. The commands other than scripts, which the code for Sentinel and clusters needs, are sent by
 * {@link #ask}.
 */
public interface SingleServer extends Redis {

    /** The channel on which a server reports changed keys. */
    String CHANGES = "__redis__:invalidate";

    /**
     * Sends commands in one pipeline, on the connection of {@link #runAll}, and returns their replies. A reply is a
     * {@code String}, a {@code Long}, null, or a list of these; a map is a list of keys and values by turns.
     *
     * @param what the name of the commands in messages
     * @throws RedisException as {@link #run}; a refusal if the server refuses one of the commands
     */
    List<Object> ask(String what, List<List<String>> commands, long timeoutNanos);

    /** Runs one script as {@link #run} does, for a slot of a cluster that is being moved to this server. */
    Outcome runAsking(Call call, long timeoutNanos);

    /** Runs scripts as {@link #runAll} does, for slots of a cluster that are being moved to this server. */
    List<Outcome> runAllAsking(List<Call> calls, long timeoutNanos);

    /**
     * Makes the connection of {@link #runAll} in the background, unless it exists. Otherwise the first renewal might
     * not connect, if the server accepts no more clients by then.
     */
    void openLane(long timeoutNanos);
}
