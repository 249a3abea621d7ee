package io.github.redislocks;

import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Uninterrupted;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A subscription to one channel on all nodes of a quorum. It is open as long as a majority of them is subscribed, since
 * then every majority that frees a lock has one of these; each node that is not is tried again.
 */
final class QuorumSubscription implements Redis.Subscription {

    private static final Logger log = LoggerFactory.getLogger(RedisLocks.class);

    /** In place of a message: it is broken. */
    private static final String BROKEN = "broken";

    private final String channel;
    private final long timeoutNanos;
    private final int majority;
    private final BlockingQueue<String> messages = new LinkedBlockingQueue<>();
    private final List<Reader> readers = new ArrayList<>();
    private final AtomicInteger subscribed = new AtomicInteger();
    private final CountDownLatch open;
    private volatile boolean closed;

    private QuorumSubscription(List<QuorumNode> nodes, String channel, long timeoutNanos) {
        this.channel = channel;
        this.timeoutNanos = timeoutNanos;
        this.majority = nodes.size() / 2 + 1;
        this.open = new CountDownLatch(majority);
        for (QuorumNode node : nodes) {
            readers.add(new Reader(node.redis));
        }
    }

    /** Subscribes to all nodes, and returns when a majority has confirmed it. An interrupt is kept. */
    static QuorumSubscription open(List<QuorumNode> nodes, String channel, long timeoutNanos) {
        QuorumSubscription subscription = new QuorumSubscription(nodes, channel, timeoutNanos);
        try {
            subscription.readers.forEach(reader -> reader.loop.start());
        } catch (Throwable e) {
            subscription.close();
            throw e;
        }
        if (!Uninterrupted.until(
                System.nanoTime() + timeoutNanos, nanos -> subscription.open.await(nanos, TimeUnit.NANOSECONDS))) {
            subscription.close();
            throw new RedisException.Unanswered(
                    "no subscription to " + channel + " on a majority of the masters in time", false, null);
        }
        return subscription;
    }

    boolean isTo(String name) {
        return channel.equals(name);
    }

    /** What hears the messages of one node. */
    QuorumNode.Listener listener(int node) {
        return readers.get(node);
    }

    @Override
    public String next() {
        while (!closed) {
            try {
                String message = messages.take();
                if (!message.equals(BROKEN)) {
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

    @Override
    public void close() {
        closed = true;
        messages.add(BROKEN);
        readers.forEach(Reader::end);
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

        Reader(Redis redis) {
            this.redis = redis;
            this.loop = new DutyLoop("redis-locks-mailbox-" + redis.address(), this::turn);
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
                messages.add(BROKEN);
                made.close();
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
                log.warn("The subscription to {} at {} has been deaf and is made anew", channel, redis.address());
                running.close();
            }
        }

        void end() {
            Redis.Subscription running = current;
            if (running != null) {
                running.close();
            }
            loop.close();
        }
    }
}
