package io.github.redislocks.apps;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.TlsServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
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
@Timeout(120)
class SpringAppsTest {

    @TempDir
    static Path folder;

    static Stream<Path> apps() {
        return Stream.of(System.getProperty("spring.apps").split(",")).map(Path::of);
    }

    @ParameterizedTest
    @MethodSource("apps")
    void app_locksContendsAwaitsLosesItsConnectionsAndCloses(Path app) throws IOException, InterruptedException {
        try (TlsServer tls = TlsServer.start(folder);
                RedisServer server = RedisServer.start()) {
            Process process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-Djavax.net.ssl.trustStore=" + folder.resolve("trust.p12"),
                            "-Djavax.net.ssl.trustStorePassword=changeit",
                            "-jar",
                            app.toString(),
                            "--locks.uri=" + server.uri(),
                            "--locks.tls=rediss://" + tls.address() + "?commandTimeout=20s")
                    .redirectErrorStream(true)
                    .start();
            try {
                String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                System.out.println(said);
                assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
                assertThat(process.exitValue()).isZero();
                assertThat(said)
                        .contains("Spring Boot " + app.getParent().getFileName())
                        .contains(List.of("locked", "contended", "awaited", "lost its connections", "used TLS"))
                        .containsPattern("INFO .*io.github.redislocks.connection +: Connected to Redis")
                        .doesNotContain("occurs", "multiple", "WARN 0", "ERROR");
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
}
