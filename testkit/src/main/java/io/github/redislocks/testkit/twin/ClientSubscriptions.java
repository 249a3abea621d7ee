package io.github.redislocks.testkit.twin;

import io.github.redislocks.redis.Redis;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The subscriptions of one client, and the faults of messages to them. Messages are lost or delayed on the way from the
 * server to the client, so such a message counts as received in the reply to its publisher.
 */
final class ClientSubscriptions {

    private final List<MemorySubscription> running = new CopyOnWriteArrayList<>();
    private final ReentrantLock lock = new ReentrantLock();
    private final List<Held> held = new ArrayList<>();
    private boolean holding;
    private boolean dropping;

    /**
     * The keys that Redis tracks for this client. The client is notified of the next change of each. Guarded by the
     * server's lock.
     */
    private final Set<String> tracked = new HashSet<>();

    private record Held(MemorySubscription subscription, Object message) {}

    /** The name of a key that has changed. */
    record Changed(String key) {}

    MemorySubscription add(String channel) {
        return add(new MemorySubscription(channel, this, null));
    }

    MemorySubscription watch(String channel, Redis.Watcher watcher) {
        MemorySubscription subscription = add(new MemorySubscription(channel, this, watcher));
        watcher.changed(null);
        return subscription;
    }

    private MemorySubscription add(MemorySubscription subscription) {
        running.add(subscription);
        return subscription;
    }

    Set<String> tracked() {
        return tracked;
    }

    /** Tells this client's connections that track keys that the given key has changed. */
    void changed(String key) {
        for (MemorySubscription subscription : running) {
            if (subscription.isWatching()) {
                send(subscription, new Changed(Binary.text(key)));
            }
        }
    }

    void remove(MemorySubscription subscription) {
        running.remove(subscription);
    }

    /** Sends a message to this client's subscriptions to the channel, and returns their number. */
    long publish(String channel, String message) {
        long reached = 0;
        for (MemorySubscription subscription : running) {
            if (subscription.channel().equals(channel)) {
                reached++;
                send(subscription, message);
            }
        }
        return reached;
    }

    void drop(boolean value) {
        locked(() -> dropping = value);
    }

    void hold() {
        locked(() -> holding = true);
    }

    void deliver() {
        locked(() -> {
            holding = false;
            held.forEach(late -> late.subscription.offer(late.message));
            held.clear();
        });
    }

    List<String> held() {
        List<String> messages = new ArrayList<>();
        locked(() -> held.forEach(late -> messages.add(late.message.toString())));
        return messages;
    }

    void endAll() {
        List<MemorySubscription> ended = List.copyOf(running);
        running.removeAll(ended);
        ended.forEach(MemorySubscription::end);
    }

    private void send(MemorySubscription subscription, Object message) {
        locked(() -> {
            if (holding) {
                held.add(new Held(subscription, message));
            } else if (!dropping && !subscription.offer(message)) {
                running.remove(subscription);
                subscription.end();
            }
        });
    }

    private void locked(Runnable work) {
        lock.lock();
        try {
            work.run();
        } finally {
            lock.unlock();
        }
    }
}
