package io.github.redislocks.redis;

import java.util.List;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol.ClusterKeyword;
import redis.clients.jedis.Protocol.Command;

/** How a node sees its cluster. */
final class ClusterQuestion extends Exchange<ClusterView> {

    private final HostAndPort node;

    ClusterQuestion(HostAndPort node, Endpoint endpoint, Connections connection, long timeoutNanos) {
        super(endpoint, connection, timeoutNanos);
        this.node = node;
    }

    @Override
    String what() {
        return "the slots of the cluster";
    }

    /** The epochs are asked for first: an old owner with a new epoch would be believed for ever. */
    @Override
    ClusterView on(Link link) {
        List<Object> answers = link.ask(about(ClusterKeyword.NODES), about(ClusterKeyword.SLOTS));
        return ClusterView.of(node, answers.get(0), answers.get(1));
    }

    private static CommandArguments about(ClusterKeyword what) {
        return new CommandArguments(Command.CLUSTER).add(what);
    }
}
