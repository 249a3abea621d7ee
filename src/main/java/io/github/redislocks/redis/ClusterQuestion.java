package io.github.redislocks.redis;

import java.util.List;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol.ClusterKeyword;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.exceptions.JedisDataException;

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
        link.send(about(ClusterKeyword.NODES));
        link.send(about(ClusterKeyword.SLOTS));
        List<Object> answers = link.answers(2);
        for (Object answer : answers) {
            if (answer instanceof JedisDataException refusal) {
                throw refusal;
            }
        }
        return ClusterView.of(node, answers.get(0), answers.get(1));
    }

    private static CommandArguments about(ClusterKeyword what) {
        return new CommandArguments(Command.CLUSTER).add(what);
    }
}
