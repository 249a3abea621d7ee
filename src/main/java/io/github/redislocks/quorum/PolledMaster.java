package io.github.redislocks.quorum;

import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.ServerTime;

/** One master of a quorum as the polls know it: its number, its server and clock, and what it may still have. */
public abstract class PolledMaster {

    public final int index;
    public final QuorumServer server;
    public final Redis redis;
    public final ServerTime time;
    public final UnansweredVotes unanswered = new UnansweredVotes();

    PolledMaster(int index, QuorumServer server) {
        this.index = index;
        this.server = server;
        this.redis = server.redis;
        this.time = server.time;
    }

    /** Has this withdrawn once more, from a time on. */
    public abstract void again(Withdrawal order, long notBeforeNanos);
}
