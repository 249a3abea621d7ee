package io.github.redislocks.testkit.twin;

import io.github.redislocks.concurrent.ParkingQueue;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A subscription to one channel: a queue of messages. If too many messages wait, the subscription breaks, as the
 * connection of a slow reader does.
 */
final class MemorySubscription implements Redis.Subscription {

    private static final int QUEUED_MESSAGES = 100_000;
    private static final Object END = new Object();

    private final String channel;
    private final ClientSubscriptions all;
    private final ParkingQueue<Object> queue = new ParkingQueue<>();
    private final AtomicInteger waiting = new AtomicInteger();
    private volatile boolean closed;

    /** Is notified of changed keys; null if no keys are watched. */
    private final Redis.@Nullable Watcher watcher;

    MemorySubscription(String channel, ClientSubscriptions all, Redis.@Nullable Watcher watcher) {
        this.channel = channel;
        this.all = all;
        this.watcher = watcher;
    }

    boolean isWatching() {
        return watcher != null;
    }

    String channel() {
        return channel;
    }

    /** Adds a message. Returns false if the queue is full. */
    boolean offer(Object message) {
        if (waiting.get() >= QUEUED_MESSAGES) {
            return false;
        }
        waiting.incrementAndGet();
        return queue.add(message);
    }

    /** Ends the subscription, as the server does: messages that have arrived can still be read. */
    void end() {
        queue.add(END);
    }

    @Override
    public String next() {
        Object next = closed ? END : take();
        while (watcher != null && next instanceof ClientSubscriptions.Changed changed) {
            watcher.changed(changed.key());
            next = closed ? END : take();
        }
        if (closed || next == END) {
            // Put END back, so that the next call finds it as well.
            queue.add(END);
            throw new RedisException.Unanswered("The subscription to " + channel + " has ended", true, null);
        }
        return (String) next;
    }

    @Override
    public void close() {
        closed = true;
        all.remove(this);
        end();
    }

    private Object take() {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    Object next = queue.take();
                    waiting.decrementAndGet();
                    return next;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
