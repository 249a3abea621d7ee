package io.github.redislocks.redis.jedis;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.redis.Redis;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * Makes the server report changes to the keys of held locks, by the server's support for client-side caches: it
 * remembers the keys that the lane has read, and when another client changes them, it sends their names to the
 * connection of a subscription.
 *
 * <p>The server forgets the keys when either of the two connections ends. Then, and at the start, the watcher is
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
        /** Whether the server was asked to report to this connection. Used by the lane only. */
        private volatile boolean used;

        private Listener(long number, Redis.Watcher watcher) {
            this.number = number;
            this.watcher = watcher;
        }

        /** @param keys the names of keys, or null, which stands for all */
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
         * Forgets the connection, which has ended: its id must not be used any more, since after a restart of the
         * server another connection may get it.
         */
        @SuppressWarnings("ReferenceEquality")
        void forget() {
            if (current == this) {
                current = null;
            }
        }
    }

    /** Makes the server report changes to the connection with this id from now on. */
    Listener track(long number, Redis.Watcher watcher) {
        Listener listener = new Listener(number, watcher);
        current = listener;
        watcher.changed(null);
        return listener;
    }

    /** Whether the server reports changes to the keys read on a connection. Asks the server for it if needed. */
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
            // The server has forgotten the keys that were read on the lane's connection before.
            listener.watcher.changed(null);
        }
        return true;
    }

    /** Logs a refusal once, unless the subscription may have just ended, which is reported anyway. */
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
