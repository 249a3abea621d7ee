package io.github.redislocks.spring;

import io.github.redislocks.JedisServers;
import java.net.URI;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.core.env.Environment;
import redis.clients.jedis.HostAndPort;

/**
 * The servers that the properties {@code spring.data.redis.*} name. This class reads the properties by their names. It
 * is used if there is no bean with the connection details of Spring Boot 4: always in Boot 3.5, and in Boot 4 without
 * spring-boot-data-redis on the class path.
 */
final class DataRedisProperties implements RedisServerSource {

    private static final String PREFIX = "spring.data.redis.";
    private static final int DEFAULT_PORT = 6379;
    private static final int DEFAULT_SENTINEL_PORT = 26_379;

    private final Binder binder;
    private final @Nullable SslBundles bundles;

    DataRedisProperties(Environment environment, @Nullable SslBundles bundles) {
        this.binder = Binder.get(environment);
        this.bundles = bundles;
    }

    /** Whether the property {@code url} asks for TLS. */
    boolean hasTlsUrl() {
        String url = text("url");
        return url != null && url.startsWith("rediss:");
    }

    /** Throws if the properties name a master with replicas, a topology that locks do not support. */
    void checkMasterReplica() {
        if (!list("masterreplica.nodes").isEmpty()) {
            throw refused(
                    "masterreplica.nodes",
                    "names a master and replicas without Sentinels, so locks could not find a new master. Set redis-locks.url to"
                            + " the address of the master, or to redis-sentinel:// or redis-cluster://");
        }
    }

    @Override
    public JedisServers servers() {
        checkMasterReplica();
        String text = text("url");
        URI url = text == null ? null : url(text);
        BootServers servers = new BootServers(url == null ? login("") : login(url), tls());
        int database = url == null ? number("database", 0) : database(url);
        List<String> sentinels = list("sentinel.nodes");
        if (!sentinels.isEmpty()) {
            String master = text("sentinel.master");
            if (master == null) {
                throw refused(
                        "sentinel.nodes",
                        "is " + sentinels
                                + ", and sentinel.master is not set: Sentinels are asked for a master by its name. Set both");
            }
            return servers.sentinel(master, addresses(sentinels, DEFAULT_SENTINEL_PORT), database, login("sentinel."));
        }
        List<String> nodes = list("cluster.nodes");
        if (!nodes.isEmpty()) {
            return servers.cluster(addresses(nodes, DEFAULT_PORT));
        }
        String host = url == null ? text("host") : url.getHost();
        int port = url == null ? number("port", DEFAULT_PORT) : url.getPort() < 0 ? DEFAULT_PORT : url.getPort();
        return servers.single(new HostAndPort(host == null ? "localhost" : host, port), database);
    }

    private @Nullable SslBundle tls() {
        String name = text("ssl.bundle");
        boolean enabled = binder.bind(PREFIX + "ssl.enabled", Boolean.class).orElse(name != null) || hasTlsUrl();
        if (!enabled) {
            return null;
        }
        if (name == null) {
            return SslBundle.systemDefault();
        }
        if (bundles == null) {
            throw refused(
                    "ssl.bundle",
                    "is \"" + name + "\", and there are no SSL bundles. Define it below spring.ssl.bundle");
        }
        return bundles.getBundle(name);
    }

    private BootServers.Login login(String of) {
        return new BootServers.Login(text(of + "username"), text(of + "password"));
    }

    private static BootServers.Login login(URI url) {
        String info = url.getUserInfo();
        if (info == null) {
            return new BootServers.Login(null, null);
        }
        int colon = info.indexOf(':');
        return new BootServers.Login(colon > 0 ? info.substring(0, colon) : null, info.substring(colon + 1));
    }

    private static URI url(String text) {
        try {
            URI url = URI.create(text);
            if (List.of("redis", "rediss").contains(String.valueOf(url.getScheme())) && url.getHost() != null) {
                return url;
            }
        } catch (IllegalArgumentException e) {
            // Ignored, since this exception may contain the password: the throw below replaces it.
        }
        throw refused("url", "must be redis://user:password@host:port/database, or rediss:// for TLS");
    }

    private static int database(URI url) {
        String path = url.getPath().replaceFirst("^/", "");
        try {
            return path.isEmpty() ? 0 : Integer.parseInt(path);
        } catch (NumberFormatException e) {
            throw refused("url", "has the path \"" + path + "\", which must be the number of a database");
        }
    }

    private static List<HostAndPort> addresses(List<String> nodes, int defaultPort) {
        return nodes.stream().map(node -> address(node, defaultPort)).toList();
    }

    private static HostAndPort address(String node, int defaultPort) {
        int colon = node.lastIndexOf(':');
        try {
            return colon < 0
                    ? new HostAndPort(node, defaultPort)
                    : new HostAndPort(node.substring(0, colon), Integer.parseInt(node.substring(colon + 1)));
        } catch (NumberFormatException e) {
            throw refused("…nodes", "has \"" + node + "\", which must be host:port");
        }
    }

    private static IllegalArgumentException refused(String name, String why) {
        return new WrongPropertyAnalyzer.WrongProperty(
                "The property " + PREFIX + name + " " + why + ".",
                "Change that property, or set redis-locks.url.",
                null);
    }

    /** The value of a property; null if it is not set or empty, as {@code ${REDIS_URL:}} may be. */
    private @Nullable String text(String name) {
        String text = binder.bind(PREFIX + name, String.class).orElse("");
        return text.isBlank() ? null : text;
    }

    private int number(String name, int otherwise) {
        return binder.bind(PREFIX + name, Integer.class).orElse(otherwise);
    }

    private List<String> list(String name) {
        return binder.bind(PREFIX + name, Bindable.listOf(String.class)).orElse(List.of());
    }
}
