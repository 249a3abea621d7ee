package io.github.redislocks;

import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Uninterrupted;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongConsumer;
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
    private final LongConsumer onGrantToNobody;

    /** Held while the subscription is made. */
    private final ReentrantLock opening = new ReentrantLock();

    private volatile Redis.@Nullable Subscription subscription;
    private final DutyLoop reader = new DutyLoop("redis-locks-mailbox", this::read);
    private volatile boolean reading;
    private volatile boolean closed;
    /** Of the reader. */
    private final Backoff backoff = Backoff.ofSubscriptions();
    /** Of the reader: what it read from last, or null before the first. */
    private Redis.@Nullable Subscription last;

    private volatile long heardNanos;
    /** When the oldest ping was sent that has not come back; 0 if there is none. */
    private volatile long pingedNanos;

    Mailbox(
            String channel,
            Redis redis,
            Clock clock,
            long timeoutNanos,
            ConcurrentMap<Long, Attempt> attempts,
            Runnable onReopened,
            LongConsumer onGrantToNobody) {
        this.channel = channel;
        this.redis = redis;
        this.clock = clock;
        this.timeoutNanos = timeoutNanos;
        this.attempts = attempts;
        this.onReopened = onReopened;
        this.onGrantToNobody = onGrantToNobody;
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
            startReader();
        } finally {
            opening.unlock();
        }
    }

    /** A subscription that nobody reads would be open and deaf. */
    private void startReader() {
        if (reading) {
            return;
        }
        try {
            last = subscription;
            reader.start();
            reading = true;
        } catch (OutOfMemoryError noThread) {
            Redis.Subscription unread = subscription;
            subscription = null;
            if (unread != null) {
                unread.close();
            }
            throw new RedisException.Unanswered("no thread could be started to read " + channel, false, noThread);
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
            reader.wake();
            if (closed) {
                made.close();
            }
        }
    }

    private void read() {
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
                    onReopened.run();
                    last = current;
                    backoff.reset();
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
        }
    }

    private void deliver(String message) {
        heardNanos = clock.nanoTime();
        pingedNanos = 0;
        if (message.isEmpty()) {
            return;
        }
        String[] parts = message.split(" ", -1);
        long number = Long.parseLong(parts[0]);
        Attempt attempt = attempts.get(number);
        long token = Long.parseLong(parts[1]);
        if (attempt == null) {
            onGrantToNobody.accept(number);
        } else if (token == 0) {
            attempt.rouse();
        } else {
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
        reader.close();
    }

    /** The thread that reads, to be waited for at close; not started before the first contention. */
    Thread reader() {
        return reader.thread();
    }
}
