package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;

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

    private static final long MIN_PAUSE_NANOS = 10_000_000;
    private static final long MAX_PAUSE_NANOS = 500_000_000;

    private final Clock clock;
    private final Call call;
    private final long untilNanos;
    private final BooleanSupplier needed;
    private final Answered whenAnswered;
    private final Runnable whenGivenUp;
    private volatile long nextTryNanos;
    private volatile boolean done;
    private long pauseNanos = MIN_PAUSE_NANOS;

    /**
     * @param notBeforeNanos when to send it first
     * @param untilNanos when to give up
     * @param needed asked before each sending: whether there still is something to do
     */
    Errand(
            Clock clock,
            Call call,
            long notBeforeNanos,
            long untilNanos,
            BooleanSupplier needed,
            Answered whenAnswered,
            Runnable whenGivenUp) {
        this.clock = clock;
        this.call = call;
        this.nextTryNanos = notBeforeNanos;
        this.untilNanos = untilNanos;
        this.needed = needed;
        this.whenAnswered = whenAnswered;
        this.whenGivenUp = whenGivenUp;
    }

    boolean isAnswered() {
        return done;
    }

    long nextTryNanos() {
        return nextTryNanos;
    }

    boolean isDone() {
        if (!done && nextTryNanos <= clock.nanoTime() && (clock.nanoTime() > untilNanos || !needed.getAsBoolean())) {
            done = true;
            whenGivenUp.run();
        }
        return done;
    }

    @Override
    public Call call(long sentNanos, long timeoutNanos) {
        return call;
    }

    @Override
    public long patienceNanos() {
        return Long.MAX_VALUE;
    }

    @Override
    public void answered(Reply reply, long sentNanos) {
        if (!done) {
            done = true;
            whenAnswered.answered(reply, sentNanos);
        }
    }

    @Override
    public void failed(RedisException failure, long sentNanos) {
        nextTryNanos = clock.nanoTime() + ThreadLocalRandom.current().nextLong(pauseNanos / 2, pauseNanos);
        pauseNanos = Math.min(2 * pauseNanos, MAX_PAUSE_NANOS);
    }
}
