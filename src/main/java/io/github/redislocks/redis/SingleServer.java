package io.github.redislocks.redis;

import java.util.List;

/**
 * The port to one server. {@link #ask} sends commands that are no scripts: the code for Sentinels and clusters needs
 * them.
 */
public interface SingleServer extends Redis {

    /** The channel on which a server reports changed keys. */
    String CHANGES = "__redis__:invalidate";

    /**
     * Sends commands in one pipeline, on the connection of {@link #runAll}, and returns their replies. A reply is a
     * {@code String}, a {@code Long}, null, or a list of replies. A map is a list in which each key is followed by its
     * value.
     *
     * @param what the name of the commands in error messages
     * @throws RedisException as {@link #run} does; {@code Refused} if the server refuses one of the commands
     */
    List<Object> ask(String what, List<List<String>> commands, long timeoutNanos);

    /** Runs one script as {@link #run} does, for a slot of a cluster that is being moved to this server. */
    Outcome runAsking(Call call, long timeoutNanos);

    /** Runs scripts as {@link #runAll} does, for slots of a cluster that are being moved to this server. */
    List<Outcome> runAllAsking(List<Call> calls, long timeoutNanos);

    /**
     * Starts to make the connection of {@link #runAll}, unless it exists. A server that accepts no more clients later
     * would otherwise prevent the first renewal.
     */
    void openLane(long timeoutNanos);
}
