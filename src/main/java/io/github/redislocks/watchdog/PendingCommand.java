package io.github.redislocks.watchdog;

import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;

/**
 * A command that goes on without its caller: a release or leave that is sent again until it is answered, or until
 * nothing that it could end can be left in Redis.
 */
public abstract class PendingCommand implements Job {

    /** Whether the command has to be sent now. */
    public enum Need {
        /** Send it. */
        NOW,
        /** Ask again later: what the command would end is still in use, or is being ended. */
        LATER
    }

    /** Returned in place of a time to wait: the command is done. */
    public static final long DONE = -1;

    private static final long LATER_NANOS = 20_000_000;

    private final Clock clock;
    private final String key;
    private final long untilNanos;
    private volatile long nextTryNanos;
    private volatile boolean done;
    private volatile boolean underWay;
    /** How often it was sent, or may have been; of the thread that sends it. */
    private int sendings;

    private final Backoff backoff = Backoff.ofRequests();

    /**
     * Makes a pending command that is due at once.
     *
     * @param key the first key of the call
     * @param untilNanos when to give up
     */
    public PendingCommand(Clock clock, String key, long untilNanos) {
        this.clock = clock;
        this.key = key;
        this.nextTryNanos = clock.nanoTime();
        this.untilNanos = untilNanos;
    }

    /** Makes the call; called before each sending. */
    public abstract Call call();

    /** Whether to send now or later; called before each sending. */
    public Need need() {
        return Need.NOW;
    }

    /**
     * Acts on a reply. If this throws, the command is sent again.
     *
     * @return {@link #DONE}, or how many nanoseconds to wait before the command is sent again
     */
    public abstract long follow(Reply reply, long sentNanos);

    /** Called each time the command was not answered. */
    public void unanswered() {}

    /** Called if the command was not answered until its end. */
    public void giveUp() {}

    /** The first key of the call. */
    public String key() {
        return key;
    }

    /** Whether the command has been answered for good, or given up. */
    public boolean isDone() {
        return done;
    }

    public boolean isUnderWay() {
        return underWay;
    }

    public long nextTryNanos() {
        return nextTryNanos;
    }

    /** Makes the command due now, without waiting for the next try. */
    public void hasten() {
        nextTryNanos = clock.nanoTime();
    }

    /** Whether to send the command now; gives it up if its time is over. Called only while it is not under way. */
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

    /** Ends it: it is not sent any more. */
    protected final void done() {
        done = true;
        underWay = false;
    }

    @Override
    public boolean begin() {
        underWay = true;
        return true;
    }

    /** Whether it was, or may have been, sent before it was sent last. */
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
