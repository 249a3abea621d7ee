package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.jedis.JedisRedis;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;

/** Connections that were unused for long, and that a firewall or a load balancer may have forgotten. */
@Timeout(60)
@Tag("server")
class IdleConnectionsTest extends JedisRedisFixture {

    private static final long HOUR = TimeUnit.HOURS.toNanos(1);
    private static final Reply PONG = new Reply("PONG", List.of(), false);

    private final AtomicLong time = new AtomicLong();
    private FaultyProxy proxy;
    private JedisRedis redis;

    @BeforeEach
    void connect() {
        proxy = closing(FaultyProxy.to(shared));
        redis = closing(new JedisRedis(proxy.address(), resp3(), 8, time::get));
    }

    /** Leaves eight connections idle. */
    private void useEight() {
        proxy.holdReplies();
        List<FutureTask<Reply>> eight =
                Stream.generate(() -> started(redis, PING)).limit(8).toList();
        await().until(() -> proxy.openConnections() == 8);
        proxy.pass();
        assertThat(eight).extracting(JedisRedisFixture::got).containsOnly(PONG);
    }

    @Test
    void forgottenForAnHour_noCallFails() {
        useEight();
        proxy.forget();
        time.addAndGet(HOUR);
        assertThat(redis.run(PING, TimeUnit.SECONDS.toNanos(2))).isEqualTo(PONG);
        assertThat(proxy.connections()).isEqualTo(9);
        await().until(() -> proxy.openConnections() == 1);
        assertThat(redis.run(PING, LONG)).isEqualTo(PONG);
        assertThat(proxy.connections()).isEqualTo(9);
    }

    @Test
    void forgottenEarly_costsOneTimeoutForAll() {
        useEight();
        proxy.forget();
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isTrue();
        assertThat(redis.run(PING, LONG)).isEqualTo(PONG);
        assertThat(proxy.connections()).isEqualTo(9);
    }

    @Test
    void usedSinceTheOneThatLedNowhere_isKept() {
        redis.run(PING, LONG);
        proxy.forget();
        time.addAndGet(1);
        FutureTask<Boolean> lost =
                started(() -> inTime(() -> redis.run(PING, SHORT)).sent());
        await().until(() -> proxy.lostRequestBytes() > 0);
        assertThat(redis.run(PING, LONG)).isEqualTo(PONG);
        assertThat(got(lost)).isTrue();
        assertThat(redis.run(PING, LONG)).isEqualTo(PONG);
        assertThat(proxy.connections()).isEqualTo(2);
    }

    @Test
    void connections_stillAlive_areUsedAgain_andThoseNotNeededAreClosed() {
        useEight();
        assertThat(redis.connections()).isEqualTo(8);
        time.addAndGet(HOUR);
        assertThat(redis.run(PING, LONG)).isEqualTo(PONG);
        await().until(() -> proxy.openConnections() == 1);
        assertThat(proxy.connections()).isEqualTo(8);
        assertThat(redis.connections()).isEqualTo(1);
        redis.openLane(LONG);
        await().until(() -> redis.connections() == 2);
        redis.close();
        assertThat(redis.connections()).isZero();
    }

    @Test
    void noRightToPing_isAnAnswer() {
        RedisServer server = closing(RedisServer.start());
        FaultyProxy way = closing(FaultyProxy.to(server));
        try (Jedis admin = server.client()) {
            admin.aclSetUser("app", "on", ">s3cret", "~*", "&*", "+@all", "-ping");
        }
        JedisRedis client = closing(new JedisRedis(
                way.address(),
                DefaultJedisClientConfig.builder()
                        .resp3()
                        .user("app")
                        .password("s3cret")
                        .build(),
                1,
                time::get));
        client.run(COUNT, LONG);
        time.addAndGet(HOUR);
        assertThat(client.run(COUNT, LONG)).isEqualTo(new Reply("OK", List.of(2L), false));
        assertThat(way.connections()).isEqualTo(1);
    }

    @Test
    void agedOne_isAskedOnlyByACallThatHasTimeForIt() {
        RedisServer server = closing(RedisServer.start());
        JedisRedis client = closing(new JedisRedis(server.address(), resp3(), 1, time::get));
        client.run(COUNT, LONG);
        try (Jedis admin = server.client()) {
            admin.configResetStat();
            time.addAndGet(TimeUnit.SECONDS.toNanos(5));
            client.run(COUNT, TimeUnit.MILLISECONDS.toNanos(700));
            assertThat(admin.info("commandstats")).doesNotContain("cmdstat_ping");
            time.addAndGet(TimeUnit.SECONDS.toNanos(5));
            client.run(COUNT, LONG);
            assertThat(admin.info("commandstats")).contains("cmdstat_ping:calls=1,");
        }
    }

    @Test
    void lane_forgotten_noBatchFails() {
        redis.runAll(List.of(PING), LONG);
        proxy.forget();
        time.addAndGet(HOUR);
        assertThat(redis.runAll(List.of(PING), TimeUnit.SECONDS.toNanos(2))).containsExactly(Outcome.of(PONG));
        assertThat(proxy.connections()).isEqualTo(2);
    }

    @Test
    void lane_stillAlive_isKeptSinceTheServerMayTakeNoOther() {
        redis.runAll(List.of(PING), LONG);
        proxy.refuse();
        time.addAndGet(HOUR);
        assertThat(redis.runAll(List.of(PING), LONG)).containsExactly(Outcome.of(PONG));
        redis.publish("news", "x", LONG);
    }

    @Test
    void closedWhileAnAgedOneIsAsked_failsUnsent() {
        redis.run(PING, LONG);
        proxy.holdReplies();
        time.addAndGet(HOUR);
        long before = proxy.requestBytes();
        FutureTask<Reply> call = started(redis, COUNT);
        await().until(() -> proxy.requestBytes() > before);
        redis.close();
        assertThatThrownBy(call::get)
                .cause()
                .isInstanceOfSatisfying(
                        RedisException.Unanswered.class,
                        e -> assertThat(e.sent()).isFalse())
                .hasMessageContaining("closed");
    }

    @Test
    void connection_madeTooLateForItsCall_servesTheNextCall() {
        proxy.roundTrip(Duration.ofMillis(400));
        JedisRedis single = closing(new JedisRedis(proxy.address(), resp3(), 1, time::get));
        assertThat(inTime(() -> single.run(PING, SHORT)).sent()).isFalse();
        assertThat(single.run(PING, LONG)).isEqualTo(PONG);
        assertThat(proxy.connections()).isEqualTo(1);
    }
}
