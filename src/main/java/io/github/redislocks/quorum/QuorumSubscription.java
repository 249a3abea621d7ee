package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.ParkingQueue;
import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A subscription to one channel on all nodes of a quorum. It is open as long as a majority of them is subscribed, since
 * then every majority that frees a lock has one of these; each node that is not is tried again.
 */
public final class QuorumSubscription implements Redis.Subscription {

    /** In place of a message: it may be broken, which is seen at once so. */
    private static final String BROKEN = "broken";

    /** How soon it is seen otherwise: there may be no memory to say so. */
    private static final long LOOK_UP_SECONDS = 1;

    private final String channel;
    private final long timeoutNanos;
    private final int majority;
    /** Without a Condition, of which an error at its first signal may lose the waiter for good. */
    private final BlockingQueue<String> messages;

    private final List<Reader> readers = new ArrayList<>();
    private final AtomicInteger subscribed = new AtomicInteger();
    private final CountDownLatch open;
    private volatile boolean closed;

    private QuorumSubscription(
            List<QuorumNode> nodes, String channel, long timeoutNanos, BlockingQueue<String> messages) {
        this.messages = messages;
        this.channel = channel;
        this.timeoutNanos = timeoutNanos;
        this.majority = nodes.size() / 2 + 1;
        this.open = new CountDownLatch(majority);
        for (QuorumNode node : nodes) {
            readers.add(new Reader(node));
        }
    }

    /** Subscribes to all nodes, and returns when a majority has confirmed it. An interrupt is kept. */
    public static QuorumSubscription open(List<QuorumNode> nodes, String channel, long timeoutNanos) {
        return open(nodes, channel, timeoutNanos, new ParkingQueue<>());
    }

    /** With a queue for the messages. */
    public static QuorumSubscription open(
            List<QuorumNode> nodes, String channel, long timeoutNanos, BlockingQueue<String> messages) {
        QuorumSubscription subscription = new QuorumSubscription(nodes, channel, timeoutNanos, messages);
        boolean opened = false;
        try {
            subscription.readers.forEach(reader -> reader.loop.start());
            opened = Uninterruptibles.until(
                    System.nanoTime() + timeoutNanos, nanos -> subscription.open.await(nanos, TimeUnit.NANOSECONDS));
        } finally {
            if (!opened) {
                // Also after an error, since nobody else could close it.
                subscription.close();
            }
        }
        if (!opened) {
            throw new RedisException.Unanswered(
                    "no subscription to " + channel + " on a majority of the masters in time", false, null);
        }
        return subscription;
    }

    public boolean isTo(String name) {
        return channel.equals(name);
    }

    /** What hears the messages of one node. */
    public QuorumNode.Listener listener(int node) {
        return readers.get(node);
    }

    @Override
    public String next() {
        while (!closed) {
            try {
                String message = messages.poll(LOOK_UP_SECONDS, TimeUnit.SECONDS);
                if (message != null && !message.equals(BROKEN)) {
                    return message;
                }
                if (subscribed.get() < majority) {
                    break;
                }
            } catch (InterruptedException e) {
                // Nobody interrupts the reader of a mailbox but a closing JVM, which also closes this.
            }
        }
        throw new RedisException.Unanswered(
                "The subscription to " + channel + " is " + (closed ? "closed" : "broken"), false, null);
    }

    /** If it meets an error, {@link #next} ends all the same, and what is not closed yet wants another call. */
    @Override
    public void close() {
        closed = true;
        // Without any need of memory.
        for (int i = 0; i < readers.size(); i++) {
            readers.get(i).loop.close();
        }
        for (int i = 0; i < readers.size(); i++) {
            readers.get(i).end();
        }
        messages.add(BROKEN);
    }

    /**
     * Reads what one node has to say, and subscribes anew when it is lost; also when it is open on one side only, so
     * that what the client sends to itself does not come back.
     */
    private final class Reader implements QuorumNode.Listener {

        private final Redis redis;
        private final DutyLoop loop;
        private final Backoff backoff = Backoff.ofSubscriptions();
        private volatile Redis.@Nullable Subscription current;
        private final AtomicLong heard = new AtomicLong();
        /** When the first message was published of which nothing came back, and what had been heard before. */
        private volatile long unheardNanos;

        private volatile long heardBefore;

        Reader(QuorumNode node) {
            this.redis = node.redis;
            this.loop = new DutyLoop(node.threads, "mailbox-" + redis.address(), this::turn);
        }

        private void turn() {
            try {
                read();
            } catch (RedisException e) {
                long until = System.nanoTime() + backoff.next();
                for (long left = 1; left > 0 && !closed; left = until - System.nanoTime()) {
                    LockSupport.parkNanos(this, left);
                }
            }
        }

        private void read() {
            Redis.Subscription made = redis.subscribe(channel, timeoutNanos);
            current = made;
            if (closed) {
                made.close();
                return;
            }
            backoff.reset();
            subscribed.incrementAndGet();
            open.countDown();
            try {
                while (true) {
                    String message = made.next();
                    heard.incrementAndGet();
                    messages.add(message);
                }
            } finally {
                current = null;
                unheardNanos = 0;
                subscribed.decrementAndGet();
                made.close();
                messages.add(BROKEN);
            }
        }

        @Override
        public long heard() {
            return heard.get();
        }

        @Override
        public void published(long before) {
            Redis.Subscription running = current;
            long now = System.nanoTime();
            if (unheardNanos == 0 || heard.get() != heardBefore) {
                heardBefore = before;
                unheardNanos = now;
            } else if (running != null && now - unheardNanos > timeoutNanos) {
                Loggers.CONNECTION.warn(
                        "The subscription to {} at {} has been deaf and is made anew", channel, redis.address());
                running.close();
            }
        }

        void end() {
            Redis.Subscription running = current;
            if (running != null) {
                running.close();
            }
        }
    }
}
