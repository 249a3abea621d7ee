package io.github.redislocks.quorum;

import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.ServerTime;

/**
 * A node of a quorum as the polls see it: its index, server and clock, and the votes of this client that the node may
 * have given, or may still give.
 */
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

    /** Repeats a withdrawal later, at {@code notBeforeNanos} at the earliest. */
    public abstract void again(Withdrawal order, long notBeforeNanos);
}
