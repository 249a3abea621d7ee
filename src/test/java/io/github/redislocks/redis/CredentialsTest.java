package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.jedis.JedisRedis;
import java.io.UncheckedIOException;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.authentication.core.IdentityProvider;
import redis.clients.authentication.core.SimpleToken;
import redis.clients.authentication.core.TokenAuthConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.DefaultRedisCredentials;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.authentication.AuthXManager;

/** Credentials that change while a client lives. */
@Timeout(60)
@Tag("server")
class CredentialsTest extends JedisRedisFixture {

    private static final long TOKEN_MILLIS = 600;
    private static final long LONG_MILLIS = 3_600_000;

    private final AtomicReference<String> password = new AtomicReference<>("first");
    private RedisServer server;
    private FaultyProxy proxy;

    @BeforeEach
    void startServer() {
        server = closing(RedisServer.start());
        proxy = closing(FaultyProxy.to(server));
        allow(">first");
    }

    private void allow(String word) {
        try (Jedis admin = server.client()) {
            admin.aclSetUser("app", "on", "resetpass", word, "~*", "&*", "+@all");
        }
    }

    @Test
    void providerIsLate_isNoRefusal_andPassesWithTheRightPassword() {
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder()
                .credentialsProvider(() -> new DefaultRedisCredentials("app", password.get()))
                .build();
        JedisRedis redis = closing(new JedisRedis(proxy.address(), config, 1));
        allow(">second");
        assertThatThrownBy(() -> redis.run(PING, LONG))
                .isInstanceOfSatisfying(
                        RedisException.Unanswered.class,
                        e -> assertThat(e.sent()).isFalse())
                .hasMessageContaining("WRONGPASS")
                // The cause shows a redirected call that this is an answer.
                .hasCauseInstanceOf(ErrorReply.class);
        password.set("second");
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
    }

    @Test
    void providerThatThrows_isNoConnection_whateverAsks() {
        AtomicReference<RuntimeException> broken = new AtomicReference<>();
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder()
                .credentialsProvider(() -> {
                    if (broken.get() != null) {
                        throw broken.get();
                    }
                    return new DefaultRedisCredentials("app", password.get());
                })
                .build();
        JedisRedis redis = closing(new JedisRedis(proxy.address(), config, 1));
        for (RuntimeException thrown : List.of(
                new IllegalStateException("of the test"),
                new UncheckedIOException("of the test", new SocketTimeoutException("of the test")))) {
            broken.set(thrown);
            for (ThrowingCallable asking : List.<ThrowingCallable>of(
                    () -> redis.run(PING, LONG),
                    () -> redis.publish("mailbox", "", LONG),
                    () -> redis.subscribe("mailbox", LONG))) {
                assertThatThrownBy(asking)
                        .isInstanceOfSatisfying(
                                RedisException.Unanswered.class,
                                e -> assertThat(e.sent()).isFalse())
                        .hasMessageStartingWith("No connection to " + proxy.address())
                        .hasMessageContaining("of the test")
                        .hasRootCause(thrown.getCause() == null ? thrown : thrown.getCause());
            }
            assertThat(redis.runAll(List.of(PING), LONG).get(0).failure())
                    .isInstanceOf(RedisException.Unanswered.class);
        }
        broken.set(null);
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
    }

    @Test
    void providerThatTakesLongerThanAConnectionMay_delaysCalls_butPreventsNone() {
        CountDownLatch never = new CountDownLatch(1);
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder()
                .credentialsProvider(() -> {
                    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(2_500);
                    Uninterruptibles.until(end, nanos -> never.await(nanos, TimeUnit.NANOSECONDS));
                    return new DefaultRedisCredentials("app", password.get());
                })
                .build();
        JedisRedis redis = closing(new JedisRedis(proxy.address(), config, 1));
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isFalse();
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
        assertThat(proxy.connections())
                .as("the connection that was being made is used")
                .isEqualTo(1);
    }

    private AuthXManager tokens(IdentityProvider provider) {
        AuthXManager tokens = new AuthXManager(TokenAuthConfig.builder()
                .identityProviderConfig(() -> provider)
                .expirationRefreshRatio(0.5F)
                .lowerRefreshBoundMillis(100)
                .tokenRequestExecTimeoutInMs(5_000)
                .maxAttemptsToRetry(3)
                .delayInMsToRetry(10)
                .build());
        closing(tokens::stop);
        return tokens;
    }

    private JedisRedis redis(AuthXManager tokens) {
        return closing(new JedisRedis(
                proxy.address(),
                DefaultJedisClientConfig.builder().authXManager(tokens).build(),
                1));
    }

    @Test
    void tokens_areAskedForAtTheFirstCall_andEachNewOneIsUsed() {
        IdentityProvider provider = () -> {
            long now = System.currentTimeMillis();
            return new SimpleToken("app", password.get(), now + TOKEN_MILLIS, now, Map.of());
        };
        AuthXManager tokens = tokens(provider);
        JedisRedis redis = redis(tokens);
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
        allow(">second");
        password.set("second");
        await().until(() -> tokens.get().getPassword()[0] == 's');
        int before = proxy.connections();
        await().ignoreExceptionsInstanceOf(RedisException.class)
                .until(() -> redis.run(PING, LONG).is("PONG") && proxy.connections() > before);
    }

    @Test
    void tokenThatThrows_losesNoConnection() {
        AtomicBoolean broken = new AtomicBoolean();
        IdentityProvider provider = () -> {
            long now = System.currentTimeMillis();
            return new SimpleToken("app", password.get(), now + LONG_MILLIS, now, Map.of()) {
                @Override
                public String getValue() {
                    if (broken.get()) {
                        throw new IllegalStateException("of the test");
                    }
                    return super.getValue();
                }
            };
        };
        JedisRedis redis = redis(tokens(provider));
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
        broken.set(true);
        assertThatThrownBy(() -> redis.run(PING, LONG))
                .isInstanceOf(RedisException.Unanswered.class)
                .hasMessageContaining("of the test");
        broken.set(false);
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
        assertThat(proxy.connections()).as("the one before is used").isEqualTo(1);
    }
}
