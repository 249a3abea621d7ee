package io.github.redislocks.redis.jedis;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.redis.Redis;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * What has the server tell of changes to the keys of held locks, by its help for caches: it remembers which keys the
 * lane has read, and tells their names to the connection of a subscription when somebody else changes them.
 *
 * <p>The server forgets all that when either of the two connections ends. Then, and when it begins, the watcher is told
 * that any key may have changed, so that all are read again.
 */
public final class Tracking {

    private final String address;
    private volatile @Nullable Listener current;
    private volatile boolean told;

    public Tracking(String address) {
        this.address = address;
    }

    /** The connection of a subscription, to which the server tells of changes. */
    public final class Listener {

        private final long number;
        private final Redis.Watcher watcher;
        /** Whether the server was asked to tell it; used by the lane only. */
        private volatile boolean used;

        private Listener(long number, Redis.Watcher watcher) {
            this.number = number;
            this.watcher = watcher;
        }

        /** Takes what the server says: the names of keys, or null, which stands for all. */
        void heard(@Nullable Object keys) {
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

        /** The connection has ended: its number must not be used, since another may get it after a restart. */
        @SuppressWarnings("ReferenceEquality")
        void end() {
            if (current == this) {
                current = null;
            }
        }
    }

    /** From now on has the server tell the connection with this number. */
    Listener begin(long number, Redis.Watcher watcher) {
        Listener listener = new Listener(number, watcher);
        current = listener;
        watcher.changed(null);
        return listener;
    }

    /** Whether the server tells of changes to what is read on a connection, which is asked for if it was not before. */
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
            // What was read on the lane before has been forgotten with that connection.
            listener.watcher.changed(null);
        }
        return true;
    }

    /** The subscription may have ended just now, and tells so itself; anything else is told once. */
    private void refused(JedisDataException refused) {
        String text = String.valueOf(refused.getMessage());
        if (!told && !text.contains("does not exist")) {
            told = true;
            Loggers.CONNECTION.warn(
                    "Redis at {} does not tell any more of locks that are deleted ({}): their holders learn it by the"
                            + " next renewal.",
                    address,
                    text);
        }
    }
}
