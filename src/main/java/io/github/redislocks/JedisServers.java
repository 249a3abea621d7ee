package io.github.redislocks;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.quorum.QuorumMasters;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.connect.RedisUri;
import io.github.redislocks.redis.jedis.JedisConfigs;
import io.github.redislocks.redis.topology.Topology;
import io.github.redislocks.script.TokenMemory;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/**
 * The address of Redis and the connection settings, in types of the client library Jedis. Use it for settings that a
 * URI cannot express, such as certificates or credentials that change. No other class of the library's API uses types
 * of Jedis. A module that uses this class must declare {@code requires redis.clients.jedis}.
 *
 * <pre>{@code
 * JedisClientConfig config = DefaultJedisClientConfig.builder().sslOptions(ssl).user("locks").password(secret).build();
 * RedisLocks locks = RedisLocks.builder()
 *         .servers(JedisServers.single(new HostAndPort("redis.internal", 6380), config))
 *         .build();
 * }</pre>
 *
 * <p>The timeouts in a configuration are not used; use {@link RedisLocksBuilder#commandTimeout} instead.
 *
 * @since 0.1.0
 */
@SuppressWarnings("exports") // Users of this class use Jedis.
public final class JedisServers {

    private final @Nullable RedisUri servers;
    private final @Nullable QuorumMasters masters;

    private JedisServers(@Nullable RedisUri servers, @Nullable QuorumMasters masters) {
        this.servers = servers;
        this.masters = masters;
    }

    private static JedisServers of(RedisUri servers) {
        return new JedisServers(servers, null);
    }

    static JedisServers uri(String uri) {
        return of(RedisUri.parse(uri));
    }

    static JedisServers quorum(String... uris) {
        return new JedisServers(null, QuorumMasters.parse(uris));
    }

    /** A single server, which must be a master. */
    public static JedisServers single(HostAndPort address, JedisClientConfig config) {
        Objects.requireNonNull(config, "config");
        return of(new RedisUri(new Topology.Single(JedisConfigs.address(address)), new JedisConfigs(config)));
    }

    /**
     * The server that is the master at present, as Sentinels name it.
     *
     * @param masterName the master's name in the Sentinels' configuration
     * @param sentinels the addresses of the Sentinels. The client asks only these
     * @param master how to connect to the master
     * @param sentinel how to connect to a Sentinel; must not set a database
     * @throws IllegalArgumentException if the name is empty, the list is empty, or a Sentinel occurs twice
     */
    public static JedisServers sentinel(
            String masterName, List<HostAndPort> sentinels, JedisClientConfig master, JedisClientConfig sentinel) {
        Objects.requireNonNull(master, "master");
        return of(new RedisUri(
                new Topology.Sentinel(masterName, addresses(sentinels)), new JedisConfigs(master, sentinel)));
    }

    /**
     * The cluster to which these nodes belong.
     *
     * @param nodes some nodes of the cluster; the client finds the others if one of these answers
     * @param node how to connect to each node; must not set a database
     * @throws IllegalArgumentException if the list is empty, or a node occurs twice
     */
    public static JedisServers cluster(List<HostAndPort> nodes, JedisClientConfig node) {
        Objects.requireNonNull(node, "node");
        return of(new RedisUri(new Topology.Cluster(addresses(nodes)), new JedisConfigs(node)));
    }

    /**
     * Independent masters, of which a majority has to agree, as in {@link RedisLocks#quorum(String...)}.
     *
     * @param addresses an odd number of masters, 3 or more; none may replicate another
     * @param node how to connect to each master
     * @throws IllegalArgumentException if the addresses are not an odd number of different servers
     */
    public static JedisServers quorum(List<HostAndPort> addresses, JedisClientConfig node) {
        Objects.requireNonNull(node, "node");
        return new JedisServers(
                null,
                QuorumMasters.of(addresses(addresses).stream()
                        .map(address -> new RedisUri(new Topology.Single(address), new JedisConfigs(node)))
                        .toList()));
    }

    private static List<Address> addresses(List<HostAndPort> addresses) {
        return addresses.stream().map(JedisConfigs::address).toList();
    }

    boolean isQuorum() {
        return masters != null;
    }

    /** The command timeout in the URI; null if the URI has none. */
    @Nullable
    Duration commandTimeout() {
        return masters != null ? masters.commandTimeout() : known().commandTimeout();
    }

    private RedisUri known() {
        return Objects.requireNonNull(servers, "either these or masters");
    }

    /**
     * Opens the {@link Redis}, which has the connections.
     *
     * @param restartDelay how long a master of a quorum gives no votes after its start; null for the default
     */
    Redis open(String clientId, Settings settings, @Nullable Duration restartDelay, Threads threads) {
        if (masters != null) {
            if (settings.residencyNanos() > 0) {
                throw new UnsupportedOperationException("residency needs one server, the master that Sentinels name, or"
                        + " a cluster, and this is a quorum, in which no queue shows that another client waits: leave"
                        + " it out.");
            }
            if (settings.watchDeletions()) {
                throw new UnsupportedOperationException("watchDeletions(true) needs one server, the master that"
                        + " Sentinels name, or a cluster, and this is a quorum: leave it out. The next renewal then"
                        + " reports a lock that a majority has lost.");
            }
            return masters.open(clientId, settings, restartDelay, threads);
        }
        if (restartDelay != null) {
            throw new IllegalArgumentException("restartDelay is " + Shown.of(restartDelay)
                    + ", and only the masters of a quorum delay their votes: leave it out, or name a quorum.");
        }
        RedisUri named = known().named(clientId);
        RedisUri spoken = settings.watchDeletions() ? named.inResp2() : named;
        Redis redis = spoken.open(settings.maxConnections(), settings.commandTimeoutNanos(), threads);
        return TokenMemory.of(redis, settings.tokenMemory());
    }

    /** Describes the servers, without passwords. */
    @Override
    public String toString() {
        return masters != null ? "quorum of " + masters.all().size() : String.valueOf(known().topology());
    }
}
