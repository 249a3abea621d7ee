package io.github.redislocks.watchdog;

import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;

/**
 * A command that goes on when its caller has returned: a release or leave. The watchdog sends it again until Redis
 * answers, or until the hold or place that the command would end has expired in Redis.
 */
public abstract class PendingCommand implements Job {

    /** When to send the command. */
    public enum Need {
        /** Send the command now. */
        NOW,
        /** Check again later: the hold that the command would end is still in use, or is being released. */
        LATER
    }

    /** The result of {@link #follow} if the command is done. */
    public static final long DONE = -1;

    private static final long LATER_NANOS = 20_000_000;

    private final Clock clock;
    private final String key;
    private final long untilNanos;
    private volatile long nextTryNanos;
    private volatile boolean done;
    private volatile boolean underWay;
    /** How often the command was sent, or may have been. Confined to the thread that sends the command. */
    private int sendings;

    private final Backoff backoff = Backoff.ofRequests();

    /** The command is due at once, and given up after {@code untilNanos}; {@code key} is the call's first key. */
    public PendingCommand(Clock clock, String key, long untilNanos) {
        this.clock = clock;
        this.key = key;
        this.nextTryNanos = clock.nanoTime();
        this.untilNanos = untilNanos;
    }

    /** Makes the call. Called each time before the command is sent. */
    public abstract Call call();

    /** Whether to send now or later. Called each time before the command is sent. */
    public Need need() {
        return Need.NOW;
    }

    /**
     * Acts on a reply. If this method throws, the command is sent again.
     *
     * @return {@link #DONE}, or after how many nanoseconds to send the command again
     */
    public abstract long follow(Reply reply, long sentNanos);

    /** Called each time Redis did not answer the command. */
    public void unanswered() {}

    /** Called when the command is given up, since Redis has not answered it in time. */
    public void giveUp() {}

    public String key() {
        return key;
    }

    /** Whether the command is done or given up. */
    public boolean isDone() {
        return done;
    }

    public boolean isUnderWay() {
        return underWay;
    }

    public long nextTryNanos() {
        return nextTryNanos;
    }

    /** Makes the command due now. */
    public void hasten() {
        nextTryNanos = clock.nanoTime();
    }

    /** Whether to send now; gives the command up if its time is over. Call only while it is not under way. */
    public boolean isDue(long now) {
        if (done || nextTryNanos > now) {
            return false;
        }
        if (now > untilNanos) {
            giveUp();
            done = true;
            return false;
        }
        if (need() == Need.LATER) {
            nextTryNanos = now + LATER_NANOS;
            return false;
        }
        return true;
    }

    /** Marks the command as done: it is not sent any more. */
    protected final void done() {
        done = true;
        underWay = false;
    }

    @Override
    public boolean begin() {
        underWay = true;
        return true;
    }

    /** Whether the command was, or may have been, sent more than once. */
    protected final boolean wasSentBefore() {
        return sendings > 1;
    }

    @Override
    public Call call(long sentNanos, long timeoutNanos) {
        sendings++;
        return call();
    }

    @Override
    public long patienceNanos() {
        return Long.MAX_VALUE;
    }

    @Override
    public void answered(Reply reply, long sentNanos) {
        long wait = follow(reply, sentNanos);
        if (wait == DONE) {
            done = true;
        } else {
            nextTryNanos = clock.nanoTime() + wait;
        }
        underWay = false;
    }

    @Override
    public void failed(RedisException failure, long sentNanos) {
        nextTryNanos = clock.nanoTime() + backoff.next();
        underWay = false;
        unanswered();
    }

    @Override
    public void end() {
        if (underWay) {
            nextTryNanos = clock.nanoTime() + LATER_NANOS;
            underWay = false;
        }
    }
}
