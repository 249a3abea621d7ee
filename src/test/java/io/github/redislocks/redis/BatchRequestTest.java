package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.RedisException.Refused;
import io.github.redislocks.redis.RedisException.Unanswered;
import io.github.redislocks.redis.jedis.BatchRequest;
import io.github.redislocks.redis.jedis.JedisRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;

@Timeout(60)
@Tag("server")
class BatchRequestTest extends JedisRedisFixture {

    @Test
    void runAll_manyCalls_oneOutcomeEachInOrder() {
        JedisRedis redis = to(shared);
        redis.run(call("set", "text"), LONG);
        List<Call> calls = new ArrayList<>();
        for (int i = 0; i < 2 * BatchRequest.CHUNK + 7; i++) {
            calls.add(i % 3 == 0 ? WRONG_TYPE : call("echo a number", "k", Integer.toString(i)));
        }
        List<Outcome> outcomes = redis.runAll(calls, LONG);
        assertThat(outcomes).hasSameSizeAs(calls);
        for (int i = 0; i < calls.size(); i++) {
            Outcome outcome = outcomes.get(i);
            if (i % 3 == 0) {
                assertThat(outcome.failure()).isInstanceOf(Refused.class).hasMessageContaining("WRONGTYPE");
            } else {
                assertThat(outcome).isEqualTo(Outcome.of(new Reply("OK", List.of((long) i))));
            }
        }
    }

    @Test
    void runAll_none_sendsNothing() {
        JedisRedis redis = closing(new JedisRedis(new HostAndPort("127.0.0.1", 1), resp3(), 1));
        assertThat(redis.runAll(List.of(), LONG)).isEmpty();
    }

    @Test
    void runAll_scriptsFlushed_eachCallRunsOnce() {
        RedisServer server = closing(RedisServer.start());
        JedisRedis redis = to(server);
        List<Call> calls = Collections.nCopies(3, COUNT);
        redis.runAll(calls, LONG);
        try (Jedis admin = server.client()) {
            admin.scriptFlush();
        }
        assertThat(redis.runAll(calls, LONG))
                .containsExactly(
                        Outcome.of(new Reply("OK", List.of(4L))),
                        Outcome.of(new Reply("OK", List.of(5L))),
                        Outcome.of(new Reply("OK", List.of(6L))));
    }

    @Test
    void runAll_failureInTheMiddle_restIsUnanswered() {
        RedisServer server = closing(RedisServer.start());
        JedisRedis redis = to(server);
        List<Call> calls = new ArrayList<>(Collections.nCopies(3 * BatchRequest.CHUNK, COUNT));
        calls.set(BatchRequest.CHUNK + 1, ENDLESS);
        redis.runAll(List.of(COUNT), LONG);
        try (Jedis admin = server.client()) {
            admin.scriptLoad(ENDLESS.script().source());
        }
        List<Outcome> outcomes = redis.runAll(calls, TimeUnit.SECONDS.toNanos(1));
        for (int i = 0; i < calls.size(); i++) {
            boolean sent = i < 2 * BatchRequest.CHUNK;
            if (i < BatchRequest.CHUNK) {
                assertThat(outcomes.get(i).failure()).isNull();
            } else {
                assertThat(outcomes.get(i).failure())
                        .as("call " + i)
                        .isInstanceOfSatisfying(
                                Unanswered.class, e -> assertThat(e.sent()).isEqualTo(sent));
            }
        }
        server.restart();
        assertThat(redis.runAll(List.of(PING), LONG)).containsExactly(Outcome.of(new Reply("PONG", List.of())));
    }

    @ParameterizedTest
    @CsvSource({"500, 100000", "1, 50000000"})
    void runAll_hangingServerTakesNoMoreBytes_failsInTime(int count, int length) {
        RedisServer server = closing(RedisServer.start());
        JedisRedis redis = to(server);
        redis.runAll(List.of(PING), LONG);
        List<Call> calls = Collections.nCopies(count, call("ok", "k", "x".repeat(length)));
        server.pause();
        long begin = System.nanoTime();
        List<Outcome> outcomes = redis.runAll(calls, SHORT);
        assertThat(Duration.ofNanos(System.nanoTime() - begin))
                .isBetween(Duration.ofNanos(SHORT), Duration.ofNanos(SHORT).plus(SLACK));
        assertThat(outcomes).allSatisfy(outcome -> assertThat(outcome.failure()).isInstanceOf(Unanswered.class));
        server.resume();
        assertThat(redis.runAll(List.of(PING), LONG)).containsExactly(Outcome.of(new Reply("PONG", List.of())));
    }

    @Test
    void runAll_laneInUse_waitsItsTimeAndCallsGoOn() {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 1));
        redis.run(PING, LONG);
        proxy.holdReplies();
        FutureTask<List<Outcome>> batch = started(() -> redis.runAll(List.of(PING), LONG));
        await().until(() -> proxy.openConnections() == 2);
        Unanswered publish = inTime(() -> redis.publish("news", "x", SHORT));
        assertThat(publish.sent()).isFalse();
        assertThat(redis.runAll(List.of(PING), SHORT))
                .singleElement()
                .satisfies(outcome -> assertThat(outcome.failure()).isInstanceOf(Unanswered.class));
        proxy.pass();
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
        assertThat(got(batch)).containsExactly(Outcome.of(new Reply("PONG", List.of())));
    }
}
