package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Bell;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Timing;
import io.github.redislocks.watchdog.Ping;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The one subscription of a client, on which the client receives the messages of the scripts about grants. The mailbox
 * is opened at the client's first contention, and then stays open. Messages only make waking faster: the heartbeats
 * find every grant whose message was lost.
 */
public final class Mailbox implements Ping {

    /** The word instead of a token if another client waits for the lock. The scripts use the same words. */
    private static final String RECALL = "recall";
    /** The word instead of a token if another client tries the lock, and has to be answered. */
    private static final String TRY = "try";
    /** The word instead of a token in the answer to such a try. */
    private static final String ASK = "ask";
    /** The word before the token if the grant is a share. */
    private static final String SHARE = "share";

    private final Source source;
    private final Messages messages;
    /** The listener for changed keys, or null. */
    private final Redis.@Nullable Watcher watcher;
    /** Whether the server has refused to report changed keys. Used by the reader only. */
    private boolean unwatched;

    /** Rings when the mailbox has opened, when a try to open it has failed, and when it is closed. */
    private final Bell tried = new Bell();
    /** Why the last try to open the mailbox failed. Each failure is a new object. Set by the reader only. */
    private volatile @Nullable RedisException failure;

    private volatile Redis.@Nullable Subscription subscription;
    private final DutyLoop reader;
    private final AtomicBoolean started = new AtomicBoolean();
    /** Whether a thread waits for the mailbox to open. */
    private volatile boolean wanted;

    private volatile boolean closed;
    /** Used by the reader only. */
    private final Backoff backoff = Backoff.ofSubscriptions();
    /** The subscription that was read last, or null before the first; used by the reader only. */
    private Redis.@Nullable Subscription last;

    private volatile long heardNanos;
    /** When the oldest ping that has not come back was sent; 0 if there is none. */
    private volatile long pingedNanos;

    /** The channel on which messages come. The timeout is that of a request, and of the return of a ping. */
    public record Source(String channel, Redis redis, Clock clock, long timeoutNanos) {}

    public Mailbox(Source source, Messages messages, Redis.@Nullable Watcher watcher, Threads threads) {
        this.reader = new DutyLoop(threads, "mailbox", this::read);
        this.source = source;
        this.messages = messages;
        this.watcher = watcher;
    }

    @Override
    public String channel() {
        return source.channel;
    }

    /** Whether a message about a grant would arrive. False once the mailbox is closed. */
    public boolean isOpen() {
        return subscription != null && !closed;
    }

    /**
     * Waits until the mailbox is open, at most for {@code nanos}. After that time the reader goes on trying, for later
     * callers. An interrupt does not end the wait; its flag is set again.
     */
    public void open(long nanos) {
        if (isOpen()) {
            return;
        }
        RedisException before = failure;
        want();
        tried.await(System.nanoTime() + nanos, () -> isOpen() || closed || isAnother(failure, before));
        RedisException after = failure;
        if (closed) {
            throw new RedisException.Unanswered("the mailbox is closed", false, null);
        }
        if (isOpen()) {
            // The mailbox is open, so the try that want() asked for is not needed any more.
            wanted = false;
        } else {
            throw after != null && isAnother(after, before)
                    ? after
                    : new RedisException.Unanswered("no subscription to " + source.channel + " in time", false, null);
        }
    }

    /** Has the reader open the mailbox, without waiting for that. */
    public void want() {
        startReader();
        // The reader may be in the pause before its next try: end the pause.
        wanted = true;
        reader.wake();
    }

    @SuppressWarnings("ReferenceEquality")
    private static boolean isAnother(@Nullable RedisException failure, @Nullable RedisException before) {
        return failure != before;
    }

    private void startReader() {
        if (!started.compareAndSet(false, true)) {
            return;
        }
        try {
            reader.start();
        } catch (OutOfMemoryError noThread) {
            started.set(false);
            throw new RedisException.Unanswered(
                    "no thread could be started to read " + source.channel, false, noThread);
        }
    }

    private void read() {
        Redis.Subscription current = subscription;
        try {
            if (current == null) {
                subscribe();
            } else {
                if (current != last) {
                    messages.opened(last != null);
                    last = current;
                    backoff.reset();
                }
                deliver(current.next());
            }
        } catch (RedisException e) {
            if (current != null) {
                // Close the subscription before clearing the field: if close() throws, the next iteration reads the
                // field again and closes the subscription then.
                current.close();
                subscription = null;
            } else {
                failure = e;
                tried.ring();
            }
            pause(backoff.next());
        }
    }

    /** Pauses for {@code nanos}, or until a thread needs a subscription. */
    private void pause(long nanos) {
        long until = source.clock.nanoTime() + nanos;
        while (!closed && !wanted && source.clock.nanoTime() < until) {
            source.clock.parkUntil(this, until);
        }
    }

    private void subscribe() {
        if (closed) {
            throw new RedisException.Unanswered("the mailbox is closed", false, null);
        }
        wanted = false;
        Redis.Subscription made =
                watcher == null ? source.redis.subscribe(source.channel, source.timeoutNanos) : watch(watcher);
        heardNanos = source.clock.nanoTime();
        pingedNanos = 0;
        subscription = made;
        if (closed) {
            made.close();
        }
        wanted = false;
        tried.ring();
    }

    /**
     * Subscribes to the messages and to reports of changed keys. If the server refuses the reports, subscribes to the
     * messages alone: the client has checked its rights when it connected, but a failover may have led to a server that
     * grants less.
     */
    private Redis.Subscription watch(Redis.Watcher told) {
        try {
            return source.redis.watch(source.channel, told, source.timeoutNanos);
        } catch (RedisException.Refused e) {
            if (e.passing()) {
                throw e;
            }
            if (!unwatched) {
                unwatched = true;
                Loggers.CONNECTION.warn(
                        "Redis does not report deleted locks any more ({}): their holders learn it by the next renewal.",
                        e.getMessage());
            }
            return source.redis.subscribe(source.channel, source.timeoutNanos);
        }
    }

    /** Delivers a message that asks for a lock, or answers such a question; returns false for other messages. */
    private boolean deliverRequest(String[] parts, long number) {
        if (parts[1].equals(RECALL)) {
            messages.wanted().byWaiter(parts[2], number);
        } else if (parts[1].equals(TRY)) {
            String[] asker = parts[2].split(" ", 3);
            messages.wanted().byTry(asker[2], asker[1], Long.parseLong(asker[0]));
        } else if (parts[1].equals(ASK)) {
            Attempt attempt = messages.attempt(number);
            if (attempt != null && attempt.isAnswered(-1)) {
                attempt.wakeToAsk();
            }
        } else {
            return false;
        }
        return true;
    }

    private void deliver(String message) {
        heardNanos = source.clock.nanoTime();
        pingedNanos = 0;
        if (message.isEmpty()) {
            return;
        }
        String[] parts = message.split(" ", 3);
        long number = Long.parseLong(parts[0]);
        if (deliverRequest(parts, number)) {
            return;
        }
        Attempt attempt = messages.attempt(number);
        if (parts[1].equals(SHARE)) {
            deliverShare(attempt, number, parts[2].split(" "));
            return;
        }
        long token = Long.parseLong(parts[1]);
        if (token == 0 && !parts[2].equals("0")) {
            if (attempt != null) {
                // Mark the attempt before looking for the hold: if the attempt becomes a hold at this moment, the hold
                // takes over the mark, or is found below.
                messages.doubted(attempt);
            }
            messages.forced(number, Long.parseLong(parts[2]));
        } else if (attempt == null) {
            messages.grantedToNobody(number);
        } else if (token == 0 && !source.redis.hasLines()) {
            attempt.wakeToAsk();
        } else if (token == 0) {
            messages.doubted(attempt);
        } else {
            String[] lostAndNumbers = parts[2].split(" ", 2);
            String numbers = lostAndNumbers.length > 1 ? lostAndNumbers[1] : "";
            attempt.decide(new Attempt.Grant(token, lostAndNumbers[0].equals("1"), 0, heardNanos, false, numbers));
        }
    }

    /**
     * Delivers the grant of a share. The grant counts from the sending of the request from which Redis knows the
     * attempt, since readers are granted a token that they may know already.
     *
     * @param values the token, when that request was sent, and 1 if a writer waits, and if the last holder lost the
     *     lock
     */
    private void deliverShare(@Nullable Attempt attempt, long number, String[] values) {
        if (attempt == null) {
            messages.grantedToNobody(number);
            return;
        }
        if (values[2].equals("1")) {
            // Note the recall before the grant: the thread that gets the grant must find it.
            attempt.owner.wanted(number);
        }
        long deadline = Long.parseLong(values[1]) + Timing.validityNanos(Timing.claimMillis(attempt.leaseMillis));
        attempt.decide(
                new Attempt.Grant(Long.parseLong(values[0]), values[3].equals("1"), deadline, heardNanos, false));
    }

    /** Sends an empty message to itself, to notice a subscription that only this client believes to be open. */
    @Override
    public void ping(long nanos) {
        if (isOpen()) {
            long now = source.clock.nanoTime();
            long pinged = pingedNanos;
            if (pinged == 0) {
                pingedNanos = now;
            } else if (now - pinged > source.timeoutNanos) {
                Loggers.CONNECTION.warn(
                        "The mailbox {} has received no messages for {} ms, and subscribes again",
                        source.channel,
                        (now - heardNanos) / 1_000_000);
                reset();
                return;
            }
            source.redis.publish(source.channel, "", nanos);
        }
    }

    /** Notifies the watcher of a change by this client itself, which the server does not report. */
    void mayHaveChanged(String key) {
        if (watcher != null) {
            watcher.changed(key);
        }
    }

    /** Whether a ping has not come back yet. */
    public boolean isPinging() {
        return pingedNanos != 0;
    }

    private void reset() {
        Redis.Subscription current = subscription;
        pingedNanos = 0;
        if (current != null) {
            current.close();
        }
    }

    public void close() {
        closed = true;
        Redis.Subscription current = subscription;
        if (current != null) {
            current.close();
        }
        reader.close();
        tried.ring();
    }

    /** The reader's thread, so that the close can join it. It is not started before the first contention. */
    public Thread reader() {
        return reader.thread();
    }
}
