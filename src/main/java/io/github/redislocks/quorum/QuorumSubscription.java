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
 * A subscription to one channel on all nodes of a quorum. It is open while it is subscribed at a majority of the nodes:
 * each majority that frees a lock includes one of those nodes. A lost subscription at a node is opened again.
 */
public final class QuorumSubscription implements Redis.Subscription {

    /** Stands for a message: wakes the reader, since the subscription may be broken. */
    private static final String BROKEN = "broken";

    /**
     * After this time the reader checks the subscription without being woken, since there may have been no memory to
     * wake it.
     */
    private static final long LOOK_UP_SECONDS = 1;

    private final String channel;
    private final long timeoutNanos;
    private final int majority;
    /** Not a BlockingQueue of the JDK: after an error in the first signal of its Condition, a waiter may never wake. */
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

    /**
     * Subscribes at all nodes, and waits until a majority has confirmed the subscription. An interrupt does not end the
     * wait; its flag is set again.
     */
    public static QuorumSubscription open(List<QuorumNode> nodes, String channel, long timeoutNanos) {
        return open(nodes, channel, timeoutNanos, new ParkingQueue<>());
    }

    /** Subscribes as {@link #open(List, String, long)} does, with the given queue for the messages. */
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
                // Close the subscription even after an error: the caller did not get it, so nobody else can.
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

    /** The listener of one node, which counts the messages. */
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
                // Ignored: the reader of a mailbox is interrupted only when the JVM shuts down, which also closes this
                // subscription.
            }
        }
        throw new RedisException.Unanswered(
                "The subscription to " + channel + " is " + (closed ? "closed" : "broken"), false, null);
    }

    /**
     * Closes the subscription: {@link #next} ends. After an error, a further call closes the readers that are still
     * open.
     */
    @Override
    public void close() {
        closed = true;
        // Use no iterator, which would need memory.
        for (int i = 0; i < readers.size(); i++) {
            readers.get(i).loop.close();
        }
        for (int i = 0; i < readers.size(); i++) {
            readers.get(i).closeCurrent();
        }
        messages.add(BROKEN);
    }

    /**
     * Reads the messages of one node. Subscribes again if the connection is lost, and if messages that this client
     * published do not come back.
     */
    private final class Reader implements QuorumNode.Listener {

        private final Redis redis;
        private final DutyLoop loop;
        private final Backoff backoff = Backoff.ofSubscriptions();
        private volatile Redis.@Nullable Subscription current;
        private final AtomicLong received = new AtomicLong();
        /**
         * When the first message was published that has not come back; the next field has the number of messages
         * received before.
         */
        private volatile long silentSinceNanos;

        private volatile long receivedBefore;

        Reader(QuorumNode node) {
            this.redis = node.redis;
            this.loop = new DutyLoop(node.threads, "mailbox-" + redis.address(), this::subscribeAndRead);
        }

        private void subscribeAndRead() {
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
                    received.incrementAndGet();
                    messages.add(message);
                }
            } finally {
                current = null;
                silentSinceNanos = 0;
                subscribed.decrementAndGet();
                made.close();
                messages.add(BROKEN);
            }
        }

        @Override
        public long received() {
            return received.get();
        }

        @Override
        public void published(long before) {
            Redis.Subscription running = current;
            long now = System.nanoTime();
            if (silentSinceNanos == 0 || received.get() != receivedBefore) {
                receivedBefore = before;
                silentSinceNanos = now;
            } else if (running != null && now - silentSinceNanos > timeoutNanos) {
                Loggers.CONNECTION.warn(
                        "The subscription to {} at {} receives no messages any more, and is made again",
                        channel,
                        redis.address());
                running.close();
            }
        }

        void closeCurrent() {
            Redis.Subscription running = current;
            if (running != null) {
                running.close();
            }
        }
    }
}
