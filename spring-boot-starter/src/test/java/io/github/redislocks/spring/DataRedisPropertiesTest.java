package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.mock.env.MockEnvironment;

/** Where Redis is, by what Spring Boot knows. */
class DataRedisPropertiesTest {

    private final MockEnvironment environment = new MockEnvironment();

    private String servers() {
        return String.valueOf(new DataRedisProperties(environment, null).servers());
    }

    private DataRedisPropertiesTest with(String name, String value) {
        environment.setProperty("spring.data.redis." + name, value);
        return this;
    }

    @Test
    void servers_nothingSet_isTheLocalOne() {
        assertThat(servers()).contains("localhost:6379");
    }

    @Test
    void servers_hostAndPort_areUsed() {
        assertThat(with("host", "redis.internal").with("port", "6380").servers())
                .contains("redis.internal:6380");
    }

    @Test
    void servers_url_isPreferred() {
        with("host", "elsewhere");
        assertThat(with("url", "redis://clerk:s%40cret@redis.internal/2").servers())
                .contains("redis.internal:6379")
                .doesNotContain("cret");
    }

    @Test
    void servers_sentinels_areUsed() {
        with("sentinel.master", "locks");
        assertThat(with("sentinel.nodes", "a:26379,b").servers()).contains("locks", "a:26379", "b:26379");
    }

    @Test
    void servers_cluster_isUsed() {
        assertThat(with("cluster.nodes", "a:7000,b:7001").servers()).contains("a:7000", "b:7001");
    }

    @Test
    void servers_whatCannotWork_isRefusedWithoutThePassword() {
        assertThatThrownBy(with("url", "http://clerk:secret@x")::servers)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("spring.data.redis.url must be redis://")
                .hasMessageNotContaining("secret");
        with("url", "redis://x/main");
        assertThatThrownBy(this::servers).hasMessageContaining("\"main\", which must be the number");
        with("url", "");
        with("sentinel.nodes", "a:b");
        assertThatThrownBy(this::servers).hasMessageContaining("sentinel.master is not set");
        with("sentinel.master", "m");
        assertThatThrownBy(this::servers).hasMessageContaining("\"a:b\", which must be host:port");
        with("ssl.bundle", "ours");
        assertThatThrownBy(this::servers).hasMessageContaining("\"ours\", and there are no SSL bundles");
    }

    private String servers(DataRedisConnectionDetails details) {
        return String.valueOf(
                new ConnectionDetailsServers(details, new DataRedisProperties(environment, null)).servers());
    }

    private static DataRedisConnectionDetails.Node node(String host) {
        return new DataRedisConnectionDetails.Node(host, 7000);
    }

    @Test
    void connectionDetails_ofSentinelsAndClusters_areUsed() {
        assertThat(servers(new DataRedisConnectionDetails() {
                    @Override
                    public Sentinel getSentinel() {
                        return new Sentinel() {
                            @Override
                            public int getDatabase() {
                                return 0;
                            }

                            @Override
                            public String getMaster() {
                                return "locks";
                            }

                            @Override
                            public List<Node> getNodes() {
                                return List.of(node("a"), node("b"));
                            }

                            @Override
                            public String getUsername() {
                                return null;
                            }

                            @Override
                            public String getPassword() {
                                return "secret";
                            }
                        };
                    }
                }))
                .contains("locks", "a:7000", "b:7000")
                .doesNotContain("secret");
        assertThat(servers(new DataRedisConnectionDetails() {
                    @Override
                    public Cluster getCluster() {
                        return () -> List.of(node("c"), node("d"));
                    }
                }))
                .contains("c:7000", "d:7000");
        assertThatThrownBy(() -> servers(new DataRedisConnectionDetails() {}))
                .as("a topology that locks cannot follow, or none")
                .hasMessageContaining("neither a single server, nor Sentinels, nor a cluster");
    }

    /** How the library heeds a property of Spring Boot, by the beginning of its name. */
    private static final Map<String, String> HEEDED = Map.ofEntries(
            Map.entry("host", "followed"),
            Map.entry("port", "followed"),
            Map.entry("url", "followed"),
            Map.entry("username", "followed"),
            Map.entry("password", "followed"),
            Map.entry("database", "followed"),
            Map.entry("ssl.", "followed"),
            Map.entry("sentinel.", "followed"),
            Map.entry("cluster.nodes", "followed"),
            Map.entry("masterreplica.nodes", "refused"),
            // How another client connects, reads and listens, which is no place.
            Map.entry("cluster.max-redirects", "of no matter"),
            Map.entry("client-", "of no matter"),
            Map.entry("connect-timeout", "of no matter"),
            Map.entry("timeout", "of no matter"),
            Map.entry("jedis.", "of no matter"),
            Map.entry("lettuce.", "of no matter"),
            Map.entry("listener.", "of no matter"),
            Map.entry("repositories.", "of no matter"));

    @Test
    void properties_ofSpringBoot_areEachFollowedRefusedOrOfNoMatter() throws IOException {
        Pattern property = Pattern.compile("\"name\": \"spring\\.data\\.redis\\.([^\"]+)\",\\s+\"type\"");
        String origin = DataRedisConnectionDetails.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toString();
        URL metadata = URI.create("jar:" + origin + "!/META-INF/spring-configuration-metadata.json")
                .toURL();
        List<String> names;
        try (InputStream in = metadata.openStream()) {
            names = property.matcher(new String(in.readAllBytes(), StandardCharsets.UTF_8))
                    .results()
                    .map(found -> found.group(1))
                    .toList();
        }
        List<String> leaves = names.stream()
                .filter(name -> names.stream().noneMatch(other -> other.startsWith(name + '.')))
                .toList();
        assertThat(leaves)
                .hasSizeGreaterThan(30)
                .allSatisfy(name -> assertThat(HEEDED.keySet())
                        .as(name)
                        .filteredOn(name::startsWith)
                        .hasSize(1));
    }

    @Test
    void masterReplica_isRefused() {
        with("masterreplica.nodes", "a:6379,b:6379");
        assertThatThrownBy(this::servers)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("spring.data.redis.masterreplica.nodes")
                .hasMessageContaining("redis-locks.url");
        assertThatThrownBy(() -> servers(new DataRedisConnectionDetails() {
                    @Override
                    public Standalone getStandalone() {
                        return Standalone.of("localhost", 6379);
                    }
                }))
                .as("which Spring Boot names as well")
                .hasMessageContaining("spring.data.redis.masterreplica.nodes");
    }
}
