package io.github.redislocks.watchdog;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;

/** A unit of work that is sent to Redis when due: a renewal, a heartbeat, a pending command. */
public interface Job {

    /**
     * Called when the job is about to be sent; from now until {@link #end} nobody else sends it. Neither throws nor
     * allocates.
     *
     * @return whether the job has to be sent; if not, {@link #end} is not called
     */
    boolean begin();

    /** Makes the call just before it is sent. Its first key is the one that was passed to {@link Batch#add}. */
    Call call(long sentNanos, long timeoutNanos);

    /** How long waiting for the reply is useful. */
    long patienceNanos();

    /** Whether the job's subject relies on messages, so that a ping should test whether they still arrive. */
    default boolean wantsPing() {
        return false;
    }

    /** The size of the job, in holds. */
    default int size() {
        return 1;
    }

    void answered(Reply reply, long sentNanos);

    void failed(RedisException failure, long sentNanos);

    /**
     * Called last, whatever happened, even if neither {@link #answered} nor {@link #failed} could be called. Must not
     * throw, since the other jobs of the batch are ended next.
     */
    void end();
}
