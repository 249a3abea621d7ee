package io.github.redislocks;

import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Uninterrupted;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one subscription of a client, on which Redis tells it of grants; opened at the first contention, then kept. A
 * message is only a hint that comes early: what it does not bring, the heartbeats find.
 */
final class Mailbox {

    private static final Logger log = LoggerFactory.getLogger(Mailbox.class);

    private final String channel;
    private final Redis redis;
    private final Clock clock;
    private final long timeoutNanos;
    private final ConcurrentMap<Long, Attempt> attempts;
    private final Runnable onReopened;

    /** Held while the subscription is made. */
    private final ReentrantLock opening = new ReentrantLock();

    private volatile Redis.@Nullable Subscription subscription;
    private @Nullable Thread reader;
    private volatile boolean closed;
    private volatile long heardNanos;
    /** When the oldest ping was sent that has not come back; 0 if there is none. */
    private volatile long pingedNanos;

    Mailbox(
            String channel,
            Redis redis,
            Clock clock,
            long timeoutNanos,
            ConcurrentMap<Long, Attempt> attempts,
            Runnable onReopened) {
        this.channel = channel;
        this.redis = redis;
        this.clock = clock;
        this.timeoutNanos = timeoutNanos;
        this.attempts = attempts;
        this.onReopened = onReopened;
    }

    String channel() {
        return channel;
    }

    /** Whether a grant made now would be told. */
    boolean isOpen() {
        return subscription != null;
    }

    /** Subscribes if need be, within a time. An interrupt is kept. */
    void open(long nanos) {
        if (isOpen()) {
            return;
        }
        long deadline = clock.nanoTime() + nanos;
        if (!Uninterrupted.until(System.nanoTime() + nanos, left -> opening.tryLock(left, TimeUnit.NANOSECONDS))) {
            throw new RedisException.Unanswered("no subscription to " + channel + " in time", false, null);
        }
        try {
            subscribe(Math.max(1, deadline - clock.nanoTime()));
            if (reader == null && !closed) {
                reader = new Thread(this::read, "redis-locks-mailbox");
                reader.setDaemon(true);
                reader.start();
            }
        } finally {
            opening.unlock();
        }
    }

    private void subscribe(long nanos) {
        if (closed) {
            throw new RedisException.Unanswered("the mailbox is closed", false, null);
        }
        if (subscription == null) {
            Redis.Subscription made = redis.subscribe(channel, nanos);
            heardNanos = clock.nanoTime();
            pingedNanos = 0;
            subscription = made;
            // It may be in the pause before its own try.
            LockSupport.unpark(reader);
            if (closed) {
                made.close();
            }
        }
    }

    private void read() {
        Backoff backoff = Backoff.ofSubscriptions();
        Redis.Subscription last = subscription;
        while (!closed) {
            Redis.Subscription current = subscription;
            try {
                if (current == null) {
                    opening.lock();
                    try {
                        subscribe(timeoutNanos);
                    } finally {
                        opening.unlock();
                    }
                } else {
                    if (current != last) {
                        last = current;
                        backoff.reset();
                        onReopened.run();
                    }
                    deliver(current.next());
                }
            } catch (RedisException e) {
                if (current != null) {
                    subscription = null;
                    current.close();
                }
                long pause = backoff.next();
                // Whoever needs a subscription now does not wait for the pause.
                if (!closed && subscription == null) {
                    clock.park(this, pause);
                }
            } catch (RuntimeException e) {
                log.error("The mailbox {} could not use a message", channel, e);
            }
        }
    }

    private void deliver(String message) {
        heardNanos = clock.nanoTime();
        pingedNanos = 0;
        if (message.isEmpty()) {
            return;
        }
        String[] parts = message.split(" ", -1);
        Attempt attempt = attempts.get(Long.parseLong(parts[0]));
        long token = Long.parseLong(parts[1]);
        if (attempt != null && token == 0) {
            attempt.rouse();
        } else if (attempt != null) {
            attempt.decide(new Attempt.Grant(token, parts[2].equals("1"), 0, heardNanos, false));
        }
    }

    /** Sends a message to itself, by which a subscription is noticed that is open on one side only. */
    void ping(long nanos) {
        if (isOpen()) {
            long now = clock.nanoTime();
            if (pingedNanos == 0) {
                pingedNanos = now;
            } else if (now - pingedNanos > timeoutNanos) {
                log.warn(
                        "The mailbox {} has been deaf for {} ms and subscribes anew",
                        channel,
                        (now - heardNanos) / 1_000_000);
                reset();
                return;
            }
            redis.publish(channel, "", nanos);
        }
    }

    private void reset() {
        Redis.Subscription current = subscription;
        pingedNanos = 0;
        if (current != null) {
            current.close();
        }
    }

    void close() {
        closed = true;
        Redis.Subscription current = subscription;
        if (current != null) {
            current.close();
        }
        Thread thread = reader;
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }

    /** The thread that reads, to be waited for at close, or null. */
    @Nullable
    Thread reader() {
        return reader;
    }
}
