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
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A subscription to one channel on all nodes of a quorum. It is open as long as a majority of them is subscribed, since
 * then every majority that frees a lock has one of these; each node that is not is tried again.
 */
final class QuorumSubscription implements Redis.Subscription {

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
        subscription.readers.forEach(reader -> reader.loop.start());
        if (!Uninterrupted.until(
                System.nanoTime() + timeoutNanos, nanos -> subscription.open.await(nanos, TimeUnit.NANOSECONDS))) {
            subscription.close();
            throw new RedisException.Unanswered(
                    "no subscription to " + channel + " on a majority of the masters in time", false, null);
        }
        return subscription;
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

    /** Reads what one node has to say, and subscribes anew when it is lost. */
    private final class Reader {

        private final Redis redis;
        private final DutyLoop loop;
        private final Backoff backoff = Backoff.ofSubscriptions();
        private volatile Redis.@Nullable Subscription current;

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
                    messages.add(made.next());
                }
            } finally {
                subscribed.decrementAndGet();
                messages.add(BROKEN);
                made.close();
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
