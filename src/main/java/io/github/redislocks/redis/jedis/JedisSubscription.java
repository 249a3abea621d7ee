package io.github.redislocks.redis.jedis;

import io.github.redislocks.redis.Redis;
import java.util.List;
import redis.clients.jedis.exceptions.JedisException;

/** A subscription on a connection of its own. To be read by a platform thread: see {@link IoThreads}. */
public final class JedisSubscription implements Redis.Subscription {

    private static final int MESSAGE_PARTS = 3;

    private final Endpoint endpoint;
    private final String channel;
    private final PooledConnection link;
    private volatile boolean closed;

    public JedisSubscription(Endpoint endpoint, String channel, PooledConnection link) {
        this.endpoint = endpoint;
        this.channel = channel;
        this.link = link;
    }

    @Override
    public String next() {
        try {
            while (true) {
                if (link.receive() instanceof List<?> parts
                        && parts.size() == MESSAGE_PARTS
                        && parts.get(0) instanceof byte[] kind
                        && parts.get(2) instanceof byte[] message
                        && Commands.text(kind).equals("message")) {
                    return Commands.text(message);
                }
            }
        } catch (JedisException e) {
            link.cut();
            throw closed
                    ? endpoint.closed(false)
                    : endpoint.failed(e, "the subscription to " + channel, true, false, 0);
        }
    }

    @Override
    public void close() {
        closed = true;
        link.cut();
    }
}
