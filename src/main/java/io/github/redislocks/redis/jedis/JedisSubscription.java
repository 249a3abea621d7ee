package io.github.redislocks.redis.jedis;

import io.github.redislocks.concurrent.IoThreads;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.SingleServer;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisException;

/** A subscription, which has its own connection. Only a platform thread may read it: see {@link IoThreads}. */
public final class JedisSubscription implements Redis.Subscription {

    private static final int MESSAGE_PARTS = 3;

    private final Endpoint endpoint;
    private final String channel;
    private final PooledConnection link;
    /** Receives the names of changed keys; null if no keys are watched. */
    private final Tracking.@Nullable Listener listener;

    private volatile boolean closed;
    /** The sending time of the ping that has no answer yet; 0 if all pings are answered. */
    private volatile long pingedNanos;

    public JedisSubscription(
            Endpoint endpoint, String channel, PooledConnection link, Tracking.@Nullable Listener listener) {
        this.endpoint = endpoint;
        this.channel = channel;
        this.link = link;
        this.listener = listener;
    }

    @Override
    public String next() {
        try {
            while (true) {
                Object received = link.receive();
                pingedNanos = 0;
                if (received instanceof List<?> parts
                        && parts.size() == MESSAGE_PARTS
                        && parts.get(0) instanceof byte[] kind
                        && parts.get(1) instanceof byte[] from
                        && Commands.text(kind).equals("message")) {
                    if (Commands.text(from).equals(channel) && parts.get(2) instanceof byte[] message) {
                        return Commands.text(message);
                    }
                    if (listener != null && Commands.text(from).equals(SingleServer.CHANGES)) {
                        listener.changed(parts.get(2));
                    }
                }
            }
        } catch (JedisException e) {
            cut();
            throw closed
                    ? endpoint.closed(false)
                    : endpoint.failed(e, new Endpoint.Unfinished("the subscription to " + channel, true, false, 0));
        }
    }

    /** Works only in RESP2. */
    @Override
    public void ping(long patienceNanos) {
        long now = System.nanoTime();
        long before = pingedNanos;
        try {
            if (before == 0) {
                pingedNanos = now == 0 ? 1 : now;
                link.send(Commands.ping());
                link.answers(0);
            } else if (now - before > patienceNanos) {
                link.cut();
            }
        } catch (JedisException broken) {
            link.cut();
        }
    }

    /** Whether a ping is unanswered. */
    public boolean isPinged() {
        return pingedNanos != 0;
    }

    @Override
    public void close() {
        closed = true;
        cut();
    }

    private void cut() {
        if (listener != null) {
            listener.forget();
        }
        link.cut();
    }
}
