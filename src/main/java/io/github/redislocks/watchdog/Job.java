package io.github.redislocks.watchdog;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;

/** Something due that is sent to Redis: a renewal, a heartbeat, a pending command. */
public interface Job {

    /**
     * Told when it is about to be sent: until its end nobody else sends the same. Neither throws nor allocates.
     *
     * @return whether it is still to be sent; if not, its end is not told
     */
    boolean begin();

    /** The call, made just before it is sent. Its first key is the one that {@link Batch#add} was given. */
    Call call(long sentNanos, long timeoutNanos);

    /** How long its answer is worth waiting for. */
    long patienceNanos();

    /** Whether it relies on a message, so that it is worth while to see whether messages still come. */
    default boolean wantsPing() {
        return false;
    }

    /** How much it has to do. */
    default int size() {
        return 1;
    }

    void answered(Reply reply, long sentNanos);

    void failed(RedisException failure, long sentNanos);

    /** Told last, whatever became of it, also if that could not even be told. Does not throw: others are told next. */
    void end();
}
