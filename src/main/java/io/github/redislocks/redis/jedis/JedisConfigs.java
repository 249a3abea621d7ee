package io.github.redislocks.redis.jedis;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.Login;
import io.github.redislocks.redis.Servers;
import io.github.redislocks.redis.SingleServer;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Objects;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.util.JedisClusterCRC16;

/**
 * The configurations of the connections to the servers that have the locks, and to Sentinels. The timeouts in the
 * configurations are not used.
 *
 * @param server user, password, database, TLS, protocol and client name
 * @param sentinel the same for Sentinels, which have no database
 */
public record JedisConfigs(JedisClientConfig server, JedisClientConfig sentinel) {

    public JedisConfigs {
        Objects.requireNonNull(server, "config");
        Objects.requireNonNull(sentinel, "sentinelConfig");
    }

    /** Makes the configurations of a deployment without Sentinels. */
    public JedisConfigs(JedisClientConfig server) {
        this(server, server);
    }

    /** Makes the configurations from the two logins of a URI. */
    public static JedisConfigs of(Login server, Login sentinel) {
        JedisClientConfig first = config(server);
        return new JedisConfigs(first, sentinel.equals(server) ? first : config(sentinel));
    }

    private static JedisClientConfig config(Login login) {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder()
                .user(login.user())
                .password(login.password())
                .clientName(login.clientName())
                .database(login.database());
        if (login.tls()) {
            config.sslOptions(SslOptions.builder().build());
        }
        return config.build();
    }

    public static Address address(HostAndPort address) {
        return new Address(address.getHost(), address.getPort());
    }

    private static HostAndPort hostAndPort(Address address) {
        return new HostAndPort(address.host(), address.port());
    }

    /** A copy that gives each connection this name, unless it has a name. */
    public JedisConfigs named(String clientName) {
        return new JedisConfigs(named(server, clientName), named(sentinel, clientName));
    }

    /**
     * A copy whose connections speak RESP2, in which a subscription receives the names of changed keys. In RESP3,
     * depending on its version, Jedis drops these pushes or takes them for answers.
     */
    public JedisConfigs inResp2() {
        return new JedisConfigs(with(server, "getRedisProtocol", RedisProtocol.RESP2), sentinel);
    }

    private static JedisClientConfig named(JedisClientConfig config, String clientName) {
        ClientSetInfoConfig said = config.getClientSetInfoConfig();
        if (config.getClientName() != null || (said != null && said.isDisabled())) {
            return config;
        }
        return with(config, "getClientName", clientName);
    }

    /**
     * Returns a configuration that has another value for one getter. All other getters call the original, since its
     * password may change. The wrapper is a proxy, since the versions of Jedis have different methods.
     */
    private static JedisClientConfig with(JedisClientConfig config, String getter, Object value) {
        return (JedisClientConfig) Proxy.newProxyInstance(
                JedisClientConfig.class.getClassLoader(),
                new Class<?>[] {JedisClientConfig.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals(getter)) {
                        return value;
                    }
                    try {
                        return method.invoke(config, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    /** The database that has the locks. */
    public int database() {
        return server.getDatabase();
    }

    /**
     * Makes the port to a server. The {@code reader} reads the replies to submitted calls.
     *
     * @param callers the number of threads that call {@code run} and {@code runAll} of the server
     */
    public SingleServer serverOf(Address address, int callers, QuickReader reader) {
        return JedisRedis.ofReader(hostAndPort(address), server, callers, reader);
    }

    /** Makes the ports to the servers that have the locks. Each runs {@code maxConnections} calls at a time. */
    public Servers servers(int maxConnections, Threads threads) {
        return new ByJedis(server, maxConnections, threads);
    }

    /** Makes the ports to the Sentinels. */
    public Servers sentinels(Threads threads) {
        return new ByJedis(sentinel, 1, threads);
    }

    private record ByJedis(JedisClientConfig config, int maxConnections, Threads threads) implements Servers {

        @Override
        public SingleServer at(Address address) {
            return new JedisRedis(hostAndPort(address), config, maxConnections, threads);
        }

        @Override
        public int slotOf(String key) {
            return JedisClusterCRC16.getSlot(key);
        }
    }
}
