package io.github.redislocks.redis.jedis;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.redis.Redis;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * Makes the server report changes to the keys of held locks. This uses the server's support for client-side caches: the
 * server remembers the keys that the lane has read, and sends the name of a key that another client changes to the
 * connection of a subscription.
 *
 * <p>The server forgets the keys when the lane or the subscription ends. Then, and at the start, the watcher is
 * notified that any key may have changed, so that all keys are read again.
 */
public final class Tracking {

    private final String address;
    private volatile @Nullable Listener current;
    private volatile boolean warned;

    public Tracking(String address) {
        this.address = address;
    }

    /** The connection of a subscription, to which the server reports changes. */
    public final class Listener {

        private final long number;
        private final Redis.Watcher watcher;
        /** Whether the server has been told to report to this connection. Used by the lane only. */
        private volatile boolean used;

        private Listener(long number, Redis.Watcher watcher) {
            this.number = number;
            this.watcher = watcher;
        }

        /** @param keys the names of the changed keys; null if any key may have changed */
        void changed(@Nullable Object keys) {
            if (keys == null) {
                watcher.changed(null);
            } else if (keys instanceof List<?> names) {
                for (Object name : names) {
                    if (name instanceof byte[] text) {
                        watcher.changed(Commands.text(text));
                    }
                }
            }
        }

        /**
         * Forgets this connection, which has ended. Its id must not be used any more: after a restart of the server,
         * another connection may get it.
         */
        @SuppressWarnings("ReferenceEquality")
        void forget() {
            if (current == this) {
                current = null;
            }
        }
    }

    /** From now on, the server is to report changes to the connection with the given id. */
    Listener track(long number, Redis.Watcher watcher) {
        Listener listener = new Listener(number, watcher);
        current = listener;
        watcher.changed(null);
        return listener;
    }

    /**
     * Returns whether the server reports changes to the keys that the lane reads on this connection. Tells the server
     * to do so if needed.
     */
    boolean isOn(PooledConnection lane) {
        Listener listener = current;
        if (listener == null) {
            return false;
        }
        if (lane.listener() == listener.number) {
            return true;
        }
        try {
            lane.ask(Commands.track(listener.number));
        } catch (JedisDataException refused) {
            refused(refused);
            return false;
        }
        lane.listener(listener.number);
        boolean again = listener.used;
        listener.used = true;
        if (again) {
            // With a new connection of the lane, the server has forgotten the keys that were read on the old one.
            listener.watcher.changed(null);
        }
        return true;
    }

    /** Logs a refusal once. Logs nothing if the subscription may have just ended, since that is reported anyway. */
    private void refused(JedisDataException refused) {
        String text = String.valueOf(refused.getMessage());
        if (!warned && !text.contains("does not exist")) {
            warned = true;
            Loggers.CONNECTION.warn(
                    "Redis at {} does not report deleted locks any more ({}): their holders learn it by the"
                            + " next renewal.",
                    address,
                    text);
        }
    }
}
