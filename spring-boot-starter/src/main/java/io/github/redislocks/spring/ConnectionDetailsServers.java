package io.github.redislocks.spring;

import io.github.redislocks.JedisServers;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.ssl.SslBundle;
import redis.clients.jedis.HostAndPort;

/**
 * The servers that the connection details of Spring Boot 4 name. The details come from properties, Testcontainers or
 * Docker Compose.
 *
 * @param properties the properties, to find out whether the URL asks for TLS, which the details do not contain
 */
record ConnectionDetailsServers(DataRedisConnectionDetails details, DataRedisProperties properties)
        implements RedisServerSource {

    @Override
    public JedisServers servers() {
        properties.checkMasterReplica();
        BootServers servers =
                new BootServers(new BootServers.Login(details.getUsername(), details.getPassword()), tls());
        DataRedisConnectionDetails.Sentinel sentinel = details.getSentinel();
        if (sentinel != null) {
            BootServers.Login ofSentinels = new BootServers.Login(sentinel.getUsername(), sentinel.getPassword());
            return servers.sentinel(
                    sentinel.getMaster(), addresses(sentinel.getNodes()), sentinel.getDatabase(), ofSentinels);
        }
        DataRedisConnectionDetails.Cluster cluster = details.getCluster();
        if (cluster != null) {
            return servers.cluster(addresses(cluster.getNodes()));
        }
        DataRedisConnectionDetails.Standalone single = details.getStandalone();
        if (single == null) {
            throw new WrongPropertyAnalyzer.WrongProperty(
                    "The " + details.getClass().getName()
                            + " name neither a single server, nor Sentinels, nor a cluster:"
                            + " locks support no other topology.",
                    "Set redis-locks.url, or define a bean of another DataRedisConnectionDetails.",
                    null);
        }
        return servers.single(new HostAndPort(single.getHost(), single.getPort()), single.getDatabase());
    }

    private @Nullable SslBundle tls() {
        SslBundle bundle = details.getSslBundle();
        boolean isOfProperties = details.getClass().getName().endsWith("PropertiesDataRedisConnectionDetails");
        return bundle == null && isOfProperties && properties.hasTlsUrl() ? SslBundle.systemDefault() : bundle;
    }

    private static List<HostAndPort> addresses(List<DataRedisConnectionDetails.Node> nodes) {
        return nodes.stream()
                .map(node -> new HostAndPort(node.host(), node.port()))
                .toList();
    }
}
