package io.github.redislocks.apps;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.SentinelServers;
import io.github.redislocks.fixture.TlsServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import redis.clients.jedis.Jedis;

/** Applications of Spring Boot, with the Jedis that its BOM names, as {@code spring-apps/run} builds them. */
@EnabledIfSystemProperty(named = "spring.apps", matches = ".+", disabledReason = "spring-apps/run builds them")
@Timeout(600)
class SpringAppsTest {

    private static final String SKU = "stock:sku-42";
    private static final int EACH = 50;

    @TempDir
    static Path folder;

    static Stream<Path> apps() {
        return Stream.of(System.getProperty("spring.apps").split(",")).map(Path::of);
    }

    private static String version(Path app) {
        return app.getParent().getFileName().toString();
    }

    private static String database(Path app) {
        return "--spring.datasource.url=jdbc:h2:file:" + folder.resolve(version(app)) + ";AUTO_SERVER=TRUE";
    }

    @ParameterizedTest
    @MethodSource("apps")
    void app_locksContendsAwaitsLosesItsConnectionsAndCloses(Path app) throws IOException, InterruptedException {
        try (TlsServer tls = TlsServer.start(folder);
                RedisServer server = RedisServer.start()) {
            List<String> others = List.of(
                    "rediss://" + tls.address() + "?commandTimeout=20s",
                    SentinelServers.shared().uri(),
                    ClusterServers.shared().uri());
            Process process = SpringApp.command(
                            app,
                            List.of(
                                    "-Djavax.net.ssl.trustStore=" + folder.resolve("trust.p12"),
                                    "-Djavax.net.ssl.trustStorePassword=changeit"),
                            "--redis-locks.url=" + server.uri(),
                            "--locks.work=" + server.uri(),
                            "--locks.others=" + String.join(";", others),
                            "--spring.main.web-application-type=none",
                            database(app))
                    .start();
            try {
                String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                System.out.println(said);
                assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
                assertThat(process.exitValue()).isZero();
                assertThat(said)
                        .contains("Spring Boot " + version(app))
                        .contains(List.of("locked", "contended", "awaited", "lost its connections"))
                        .contains(List.of("used rediss", "used redis-sentinel", "used redis-cluster"))
                        .containsPattern("INFO .*io.github.redislocks.connection +: Connected to Redis")
                        .doesNotContain("occurs", "multiple", "WARN 0", "ERROR", "LinkageError", "NoClassDefFound");
                try (Jedis jedis = server.client()) {
                    assertThat(jedis.clientList().lines())
                            .as("connections that are left")
                            .hasSize(1);
                    assertThat(jedis.keys("*")).allMatch(key -> key.endsWith(":fence"));
                }
            } finally {
                process.destroyForcibly();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("apps")
    void twoInstances_shareALock_andTellOfItOverHttp(Path app) throws Exception {
        try (RedisServer server = RedisServer.start();
                SpringApp first = serving(app, server);
                SpringApp second = serving(app, server)) {
            CompletableFuture<String> sold = first.postAsync("/sell?each=" + EACH);
            assertThat(second.post("/sell?each=" + EACH)).isEqualTo("sold");
            assertThat(sold).succeedsWithin(180, TimeUnit.SECONDS).isEqualTo("sold");
            assertThat(first.get("/sold")).isEqualTo(Integer.toString(2 * 4 * EACH));
            assertThat(second.get("/sold")).isEqualTo(first.get("/sold"));
            assertThat(second.get("/actuator/metrics/redis.locks.hold"))
                    .contains("\"statistic\":\"COUNT\",\"value\":" + 4 * EACH + ".0");
            asksTheEndpoint(first, second);
            asksForHealth(app, server, first);
            assertThat(first.stop()).contains("let go of report/monday").doesNotContain("ERROR");
            assertThat(second.stop()).doesNotContain("ERROR");
            try (Jedis jedis = server.client()) {
                assertThat(jedis.clientList().lines())
                        .as("connections that are left")
                        .hasSize(1);
                assertThat(jedis.keys("*")).isNotEmpty().allMatch(key -> key.matches("shop:.*:fence"));
            }
        }
    }

    private static SpringApp serving(Path app, RedisServer server) throws IOException {
        return SpringApp.start(app, "--spring.data.redis.url=" + server.uri(), database(app));
    }

    private static void asksTheEndpoint(SpringApp first, SpringApp second) throws Exception {
        first.post("/hold?lock=report/monday");
        assertThat(first.get("/actuator/locks")).contains("\"held\":1", "\"waiting\":0", "\"closed\":false");
        assertThat(second.get("/actuator/locks")).contains("\"held\":0");
        assertThat(second.get("/actuator/locks/report/monday"))
                .contains("\"name\":\"report/monday\"", ":" + first.pid() + ":", "\"remainingLeaseMillis\"");
        assertThat(second.get("/actuator/locks/" + SKU)).doesNotContain("\"owner\"");
        assertThat(second.delete("/actuator/locks/report/monday")).contains("\"forced\":true");
        assertThat(second.get("/actuator/locks/report/monday")).doesNotContain("\"owner\"");
    }

    /** Boot 3.5 has other types for health. */
    private static void asksForHealth(Path app, RedisServer server, SpringApp first) throws Exception {
        if (version(app).startsWith("3.")) {
            assertThat(first.get("/actuator/health")).doesNotContain("redisLocks");
            return;
        }
        assertThat(first.get("/actuator/health/redisLocks")).contains("\"status\":\"UP\"", "\"held\"");
        server.pause();
        try {
            assertThat(first.get("/actuator/health/redisLocks")).contains("\"status\":\"DOWN\"");
        } finally {
            server.resume();
        }
    }
}
