package io.github.redislocks.watchdog;

import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;

/**
 * A command whose caller has gone: a release or a leave that must still be sent. It is sent again until it is answered,
 * or until a time from which on nothing is left that it could end.
 */
public abstract class PendingCommand implements Job {

    /** Whether there is something to do now. */
    public enum Need {
        /** Send it. */
        NOW,
        /** What it would end is still wanted, or is being ended: ask again. */
        LATER
    }

    /** In place of a time to wait: it is done. */
    public static final long DONE = -1;

    private static final long LATER_NANOS = 20_000_000;

    private final Clock clock;
    private final String key;
    private final long untilNanos;
    private volatile long nextTryNanos;
    private volatile boolean done;
    private volatile boolean underWay;
    private final Backoff backoff = Backoff.ofRequests();

    /**
     * A pending command that is sent at once.
     *
     * @param key the first key of its call
     * @param untilNanos when to give up
     */
    public PendingCommand(Clock clock, String key, long untilNanos) {
        this.clock = clock;
        this.key = key;
        this.nextTryNanos = clock.nanoTime();
        this.untilNanos = untilNanos;
    }

    /** The call; asked before each sending. */
    public abstract Call call();

    /** Asked before each sending. */
    public Need need() {
        return Need.NOW;
    }

    /**
     * Does what follows from an answer. If it throws, it is asked for the answer once more.
     *
     * @return {@link #DONE}, or how long to wait before it is sent once more
     */
    public abstract long follow(Reply reply, long sentNanos);

    /** Told each time that there was no answer. */
    public void unanswered() {}

    /** Does what follows if there is no answer until the end. */
    public void giveUp() {}

    /** The first key of its call. */
    public String key() {
        return key;
    }

    /** Whether it is answered, or was given up. */
    public boolean isDone() {
        return done;
    }

    public boolean isUnderWay() {
        return underWay;
    }

    public long nextTryNanos() {
        return nextTryNanos;
    }

    /** Has it sent now, though it might wait. */
    public void hasten() {
        nextTryNanos = clock.nanoTime();
    }

    /** To be asked while it is not under way: whether to send it now. Gives it up when its time is over. */
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

    @Override
    public Call call(long sentNanos, long timeoutNanos) {
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
