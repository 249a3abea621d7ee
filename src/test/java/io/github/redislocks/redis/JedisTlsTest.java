package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.TlsServer;
import io.github.redislocks.redis.RedisException.Unanswered;
import io.github.redislocks.redis.jedis.BatchRequest;
import io.github.redislocks.redis.jedis.JedisRedis;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLSocketFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.DefaultRedisCredentials;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.SslOptions;

/** TLS changes how a connection ends: closing one waits for the other side, unless the plain socket below is closed. */
@Timeout(60)
@Tag("server")
class JedisTlsTest extends JedisRedisFixture {

    @TempDir
    static Path folder;

    private TlsServer tls;
    private RedisServer server;
    private HostAndPort address;

    @BeforeEach
    void startServer() {
        tls = closing(TlsServer.start(folder));
        server = tls.server();
        address = tls.address();
    }

    @Test
    void run_trustedServer_answersAlsoAfterItsRestart() {
        JedisRedis redis = closing(new JedisRedis(address, tls.trusting(), 2));
        assertThat(redis.run(PING, LONG)).isEqualTo(new Reply("PONG", List.of(), false));
        server.restart();
        assertThat(redis.run(PING, LONG)).isEqualTo(new Reply("PONG", List.of(), true));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void run_serverWithAnotherName_isRefused(boolean byFactory) throws GeneralSecurityException, IOException {
        JedisClientConfig config = byFactory ? trustingByFactory() : tls.trusting();
        JedisRedis redis = closing(new JedisRedis(new HostAndPort("127.0.0.1", address.getPort()), config, 2));
        assertThatThrownBy(() -> redis.run(PING, LONG))
                .isInstanceOfSatisfying(
                        Unanswered.class, e -> assertThat(e.sent()).isFalse())
                .hasMessageContaining("subject alternative name");
        JedisRedis named = closing(new JedisRedis(address, config, 2));
        assertThat(named.run(PING, LONG).is("PONG")).isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void run_hostNameThatAVerifierChecks_isAcceptedAsItSays(boolean accepts) {
        JedisClientConfig config = DefaultJedisClientConfig.builder()
                .sslOptions(tls.trusting().getSslOptions())
                .hostnameVerifier((host, session) -> accepts && host.equals(address.getHost()))
                .build();
        JedisRedis redis = closing(new JedisRedis(address, config, 2));
        if (accepts) {
            assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
        } else {
            assertThatThrownBy(() -> redis.run(PING, LONG))
                    .isInstanceOfSatisfying(
                            Unanswered.class, e -> assertThat(e.sent()).isFalse())
                    .hasMessageContaining("HostnameVerifier");
        }
    }

    @Test
    void run_slowProviderBehindAVerifier_delaysCallsButPreventsNone() {
        FaultyProxy proxy = closing(FaultyProxy.to(address));
        proxy.roundTrip(Duration.ofMillis(20));
        CountDownLatch never = new CountDownLatch(1);
        JedisClientConfig config = DefaultJedisClientConfig.builder()
                .sslOptions(tls.trusting().getSslOptions())
                .hostnameVerifier((host, session) -> true)
                .credentialsProvider(() -> {
                    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(2_500);
                    Uninterruptibles.until(end, nanos -> never.await(nanos, TimeUnit.NANOSECONDS));
                    return new DefaultRedisCredentials("default", "any");
                })
                .build();
        HostAndPort named = new HostAndPort(address.getHost(), proxy.address().getPort());
        JedisRedis redis = closing(new JedisRedis(named, config, 1));
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isFalse();
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
        assertThat(proxy.connections())
                .as("the connection that was being made is used")
                .isEqualTo(1);
    }

    @Test
    void run_strangeServer_saysWhy() {
        JedisClientConfig config = DefaultJedisClientConfig.builder()
                .sslOptions(SslOptions.builder().build())
                .build();
        JedisRedis redis = closing(new JedisRedis(address, config, 2));
        assertThatThrownBy(() -> redis.run(PING, LONG))
                .isInstanceOfSatisfying(
                        Unanswered.class, e -> assertThat(e.sent()).isFalse())
                .hasMessageContaining("certification path");
    }

    @Test
    void run_serverHangs_failsInTime() {
        JedisRedis redis = closing(new JedisRedis(address, tls.trusting(), 2));
        redis.run(PING, LONG);
        server.pause();
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isTrue();
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isFalse();
        server.resume();
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
    }

    @Test
    void run_answerInPieces_failsInTime() {
        FaultyProxy proxy = closing(FaultyProxy.to(address));
        HostAndPort named = new HostAndPort(address.getHost(), proxy.address().getPort());
        JedisRedis redis = closing(new JedisRedis(named, tls.trusting(), 2));
        redis.run(PING, LONG);
        proxy.dripReplies(Duration.ofMillis(50));
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isTrue();
        proxy.pass();
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
    }

    @Test
    void next_subscriptionClosedWhileServerHangs_failsAtOnce() {
        JedisRedis redis = closing(new JedisRedis(address, tls.trusting(), 2));
        Redis.Subscription subscription = redis.subscribe("news", LONG);
        redis.publish("news", "hello", LONG);
        assertThat(subscription.next()).isEqualTo("hello");
        server.pause();
        failsOnce(subscription, subscription::close);
    }

    @Test
    void close_writerStuck_returnsAtOnce() {
        JedisRedis redis = closing(new JedisRedis(address, tls.trusting(), 2));
        redis.runAll(List.of(PING), LONG);
        server.pause();
        List<Call> calls = Collections.nCopies(BatchRequest.CHUNK, call("ok", "k", "x".repeat(100_000)));
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

    /** Configured in the old way of Jedis, before {@link SslOptions}. */
    @SuppressWarnings("deprecation")
    private JedisClientConfig trustingByFactory() throws GeneralSecurityException, IOException {
        SSLSocketFactory factory = Objects.requireNonNull(tls.trusting().getSslOptions())
                .createSslContext()
                .getSocketFactory();
        return DefaultJedisClientConfig.builder()
                .ssl(true)
                .sslSocketFactory(factory)
                .build();
    }
}
