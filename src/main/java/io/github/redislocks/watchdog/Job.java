package io.github.redislocks.watchdog;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;

/** A unit of work that is sent to Redis when due: a renewal, a heartbeat, a pending command. */
public interface Job {

    /**
     * Called before the job is sent. From now until {@link #end} no other sender takes the job. Must neither throw nor
     * allocate.
     *
     * @return whether the job has to be sent; if not, {@link #end} is not called
     */
    boolean begin();

    /** Makes the call, just before it is sent. The first key of the call is the key that {@link Batch#add} got. */
    Call call(long sentNanos, long timeoutNanos);

    /** How long it is useful to wait for the reply. */
    long patienceNanos();

    /** Whether the job relies on messages, so that a ping should test whether messages still arrive. */
    default boolean wantsPing() {
        return false;
    }

    /** The size of the job, in holds. */
    default int size() {
        return 1;
    }

    void answered(Reply reply, long sentNanos);

    void failed(RedisException failure, long sentNanos);

    /** Called last, even if an error prevented both {@link #answered} and {@link #failed}. */
    void end();
}
