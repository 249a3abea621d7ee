package io.github.redislocks.redis.jedis;

import java.util.List;
import redis.clients.jedis.CommandArguments;

/** Commands that are sent together, and their answers; refused if the server refuses one of them. */
public final class Question extends TimedRequest<List<Object>> {

    private final String what;
    private final CommandArguments[] commands;

    /** What: how messages call it. */
    public Question(
            Endpoint endpoint, ConnectionPool pool, long timeoutNanos, String what, CommandArguments... commands) {
        super(endpoint, pool, timeoutNanos);
        this.what = what;
        this.commands = commands;
    }

    @Override
    public String what() {
        return what;
    }

    @Override
    public List<Object> on(PooledConnection link) {
        return link.askAll(commands);
    }
}
