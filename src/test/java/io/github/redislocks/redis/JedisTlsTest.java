package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.RedisServer.Version;
import io.github.redislocks.redis.RedisException.Unanswered;
import java.io.IOException;
import java.io.InputStream;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.SslOptions;

/** TLS changes how a connection ends: closing one waits for the other side, unless the plain socket below is closed. */
@Timeout(60)
class JedisTlsTest extends JedisRedisFixture {

    private static final String PASSWORD = "changeit";

    @TempDir
    static Path folder;

    private RedisServer server;
    private HostAndPort address;

    @BeforeAll
    static void makeCertificate() throws IOException, GeneralSecurityException, InterruptedException {
        // Of the programs that the build brings along, that one was built with TLS.
        assumeTrue(
                System.getProperty("os.name").equals("Linux")
                        && System.getProperty("os.arch").equals("amd64"),
                "no Redis with TLS for this machine");
        String keytool =
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
        List<String> command = List.of(
                keytool,
                "-genkeypair",
                "-alias",
                "redis",
                "-keyalg",
                "RSA",
                "-dname",
                "CN=localhost",
                "-ext",
                "san=dns:localhost",
                "-storetype",
                "PKCS12",
                "-storepass",
                PASSWORD,
                "-keystore",
                folder.resolve("server.p12").toString());
        assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
        KeyStore both = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(folder.resolve("server.p12"))) {
            both.load(in, PASSWORD.toCharArray());
        }
        byte[] key = both.getKey("redis", PASSWORD.toCharArray()).getEncoded();
        byte[] certificate = both.getCertificate("redis").getEncoded();
        Files.writeString(folder.resolve("key.pem"), pem("PRIVATE KEY", key));
        Files.writeString(folder.resolve("cert.pem"), pem("CERTIFICATE", certificate));
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("redis", both.getCertificate("redis"));
        try (var out = Files.newOutputStream(folder.resolve("trust.p12"))) {
            trusted.store(out, PASSWORD.toCharArray());
        }
    }

    @BeforeEach
    void startServer() throws IOException {
        int port;
        try (ServerSocket socket = new ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        address = new HostAndPort("localhost", port);
        server = closing(RedisServer.start(
                Version.V6_2,
                "--tls-port",
                Integer.toString(port),
                "--tls-cert-file",
                folder.resolve("cert.pem").toString(),
                "--tls-key-file",
                folder.resolve("key.pem").toString(),
                "--tls-auth-clients",
                "no"));
    }

    @Test
    void run_trustedServer_answersAlsoAfterItsRestart() {
        JedisRedis redis = closing(new JedisRedis(address, trusting(), 2));
        assertThat(redis.run(PING, LONG)).isEqualTo(new Reply("PONG", List.of(), false));
        server.restart();
        assertThat(redis.run(PING, LONG)).isEqualTo(new Reply("PONG", List.of(), true));
    }

    @Test
    void run_strangeServer_saysWhy() {
        JedisClientConfig config = DefaultJedisClientConfig.builder()
                .sslOptions(SslOptions.defaults())
                .build();
        JedisRedis redis = closing(new JedisRedis(address, config, 2));
        assertThatThrownBy(() -> redis.run(PING, LONG))
                .isInstanceOfSatisfying(
                        Unanswered.class, e -> assertThat(e.sent()).isFalse())
                .hasMessageContaining("certification path");
    }

    @Test
    void run_serverHangs_endsInTime() {
        JedisRedis redis = closing(new JedisRedis(address, trusting(), 2));
        redis.run(PING, LONG);
        server.pause();
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isTrue();
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isFalse();
        server.resume();
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
    }

    @Test
    void next_subscriptionClosedWhileServerHangs_failsAtOnce() {
        JedisRedis redis = closing(new JedisRedis(address, trusting(), 2));
        Redis.Subscription subscription = redis.subscribe("news", LONG);
        redis.publish("news", "hello", LONG);
        assertThat(subscription.next()).isEqualTo("hello");
        server.pause();
        failsOnce(subscription, subscription::close);
    }

    @Test
    void close_writerStuck_endsItAtOnce() {
        JedisRedis redis = closing(new JedisRedis(address, trusting(), 2));
        redis.runAll(List.of(PING), LONG);
        server.pause();
        List<Call> calls = Collections.nCopies(Pipeline.CHUNK, call("ok", "k", "x".repeat(100_000)));
        FutureTask<List<Outcome>> batch = started(() -> redis.runAll(calls, LONG));
        assertThatThrownBy(() -> batch.get(300, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
        long begin = System.nanoTime();
        redis.close();
        assertThat(got(batch))
                .allSatisfy(outcome -> assertThat(outcome.failure())
                        .isInstanceOf(Unanswered.class)
                        .hasMessageContaining("closed"));
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(2));
    }

    private static JedisClientConfig trusting() {
        SslOptions options = SslOptions.builder()
                .truststore(folder.resolve("trust.p12").toFile(), PASSWORD.toCharArray())
                .trustStoreType("PKCS12")
                .build();
        return DefaultJedisClientConfig.builder().sslOptions(options).build();
    }

    private static String pem(String kind, byte[] bytes) {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
        return "-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n";
    }
}
