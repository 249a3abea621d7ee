package io.github.redislocks.redis.sentinel;

import io.github.redislocks.redis.jedis.ConnectionPool;
import io.github.redislocks.redis.jedis.Endpoint;
import io.github.redislocks.redis.jedis.PooledConnection;
import io.github.redislocks.redis.jedis.TimedRequest;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.BuilderFactory;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.Protocol.SentinelKeyword;

/** The question to a Sentinel for the address of a master. */
public final class SentinelRequest extends TimedRequest<Sentinels.Sighting> {

    private static final String EPOCH = "config-epoch";

    private final String masterName;

    public SentinelRequest(Endpoint sentinel, ConnectionPool connection, String masterName, long timeoutNanos) {
        super(sentinel, connection, timeoutNanos);
        this.masterName = masterName;
    }

    @Override
    public String what() {
        return "the address of the master " + masterName;
    }

    /**
     * Asks for the epoch first: an old address with a new epoch would be believed for ever. The address comes from the
     * second reply, since the first one names the old master until the failover has moved all replicas to the new one.
     */
    @Override
    public Sentinels.Sighting on(PooledConnection connection) {
        List<Object> answers =
                connection.ask(about(SentinelKeyword.MASTER), about(SentinelKeyword.GET_MASTER_ADDR_BY_NAME));
        Map<String, String> master = BuilderFactory.STRING_MAP.build(answers.get(0));
        List<String> address = BuilderFactory.STRING_LIST.build(answers.get(1));
        return new Sentinels.Sighting(
                new HostAndPort(address.get(0), Integer.parseInt(address.get(1))),
                Long.parseLong(String.valueOf(master.get(EPOCH))));
    }

    private CommandArguments about(SentinelKeyword what) {
        return new CommandArguments(Command.SENTINEL).add(what).add(masterName);
    }
}
