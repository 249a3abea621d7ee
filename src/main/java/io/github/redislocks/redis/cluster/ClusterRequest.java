package io.github.redislocks.redis.cluster;

import io.github.redislocks.redis.jedis.ConnectionPool;
import io.github.redislocks.redis.jedis.Endpoint;
import io.github.redislocks.redis.jedis.PooledConnection;
import io.github.redislocks.redis.jedis.TimedRequest;
import java.util.List;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol.ClusterKeyword;
import redis.clients.jedis.Protocol.Command;

/** The question to a node for its view of the cluster. */
public final class ClusterRequest extends TimedRequest<ClusterView> {

    private final HostAndPort node;

    public ClusterRequest(HostAndPort node, Endpoint endpoint, ConnectionPool connection, long timeoutNanos) {
        super(endpoint, connection, timeoutNanos);
        this.node = node;
    }

    @Override
    public String what() {
        return "the slots of the cluster";
    }

    /** Asks for the epochs first: an old owner with a new epoch would be believed for ever. */
    @Override
    public ClusterView on(PooledConnection link) {
        List<Object> answers = link.ask(about(ClusterKeyword.NODES), about(ClusterKeyword.SLOTS));
        return ClusterView.of(node, answers.get(0), answers.get(1));
    }

    private static CommandArguments about(ClusterKeyword what) {
        return new CommandArguments(Command.CLUSTER).add(what);
    }
}
