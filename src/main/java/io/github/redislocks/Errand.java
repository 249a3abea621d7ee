package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.function.Supplier;

/**
 * A command whose caller has gone: a release or a leave that must still be sent. It is sent again until it is answered,
 * or until a time from which on nothing is left that it could end.
 */
final class Errand implements Watchdog.Job {

    /** What to do with the answer. */
    @FunctionalInterface
    interface Answered {
        void answered(Reply reply, long sentNanos);
    }

    /** Whether there still is something to do. */
    enum Need {
        /** Send it. */
        NOW,
        /** Something is under way that it must not overtake: ask again. */
        LATER,
        /** It would end what is wanted. */
        NO_LONGER
    }

    private static final long OVERTAKEN_NANOS = 10_000_000;

    private final Clock clock;
    private final String key;
    private final Supplier<Call> call;
    private final long untilNanos;
    private final Supplier<Need> need;
    private final Answered whenAnswered;
    private final Runnable whenGivenUp;
    private volatile long nextTryNanos;
    private volatile boolean done;
    private volatile boolean underWay;
    private final Backoff backoff = Backoff.ofRequests();

    /**
     * @param key the first key of its call
     * @param call asked before each sending
     * @param notBeforeNanos when to send it first
     * @param untilNanos when to give up
     * @param need asked before each sending
     */
    Errand(
            Clock clock,
            String key,
            Supplier<Call> call,
            long notBeforeNanos,
            long untilNanos,
            Supplier<Need> need,
            Answered whenAnswered,
            Runnable whenGivenUp) {
        this.clock = clock;
        this.key = key;
        this.call = call;
        this.nextTryNanos = notBeforeNanos;
        this.untilNanos = untilNanos;
        this.need = need;
        this.whenAnswered = whenAnswered;
        this.whenGivenUp = whenGivenUp;
    }

    /** The first key of its call. */
    String key() {
        return key;
    }

    /** Notes that it is about to be sent. */
    Errand begin() {
        underWay = true;
        return this;
    }

    boolean isUnderWay() {
        return underWay;
    }

    boolean isAnswered() {
        return done;
    }

    long nextTryNanos() {
        return nextTryNanos;
    }

    boolean isDone() {
        long now = clock.nanoTime();
        if (!done && nextTryNanos <= now) {
            Need current = need.get();
            if (now > untilNanos || current == Need.NO_LONGER) {
                done = true;
                whenGivenUp.run();
            } else if (current == Need.LATER) {
                nextTryNanos = now + OVERTAKEN_NANOS;
            }
        }
        return done;
    }

    @Override
    public Call call(long sentNanos, long timeoutNanos) {
        return call.get();
    }

    @Override
    public long patienceNanos() {
        return Long.MAX_VALUE;
    }

    @Override
    public void answered(Reply reply, long sentNanos) {
        try {
            if (!done) {
                done = true;
                whenAnswered.answered(reply, sentNanos);
            }
        } finally {
            underWay = false;
        }
    }

    @Override
    public void failed(RedisException failure, long sentNanos) {
        nextTryNanos = clock.nanoTime() + backoff.next();
        underWay = false;
    }
}
