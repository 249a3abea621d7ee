package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.RedisServer.Version;
import io.github.redislocks.redis.RedisException.Refused;
import io.github.redislocks.redis.RedisException.Unanswered;
import io.github.redislocks.redis.jedis.JedisRedis;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.RedisProtocol;

@Timeout(60)
@Tag("server")
class JedisRedisTest extends JedisRedisFixture {

    @ParameterizedTest
    @CsvSource({"V6_2, RESP2", "V6_2, RESP3", "V7_0, RESP2", "V7_0, RESP3"})
    void run_anyVersionAndProtocol_bringsCodeNumbersAndTexts(Version version, RedisProtocol protocol) {
        RedisServer server = closing(RedisServer.start(version));
        JedisClientConfig config =
                DefaultJedisClientConfig.builder().protocol(protocol).build();
        JedisRedis redis = closing(new JedisRedis(server.address(), config, 2));
        Call call = call("echo", "k€y", "ärg");
        Reply reply = redis.run(call, LONG);
        assertThat(reply).isEqualTo(new Reply("OK", List.of(1_790_000_000_000_001L, "k€y", "ärg", ""), false));
        assertThat(redis.runAll(List.of(call, PING), LONG))
                .containsExactly(Outcome.of(reply), Outcome.of(new Reply("PONG", List.of())));
    }

    @Test
    void run_errorReply_refusedWithTheServersText() {
        JedisRedis redis = to(shared);
        redis.run(call("set", "text"), LONG);
        assertThatThrownBy(() -> redis.run(WRONG_TYPE, LONG))
                .isInstanceOf(Refused.class)
                .hasMessageContaining("WRONGTYPE")
                .hasMessageContaining(redis.address());
        assertThatThrownBy(() -> redis.run(call("error"), LONG))
                .isInstanceOfSatisfying(
                        Refused.class, e -> assertThat(e.passing()).isTrue());
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
    }

    @ParameterizedTest
    @EnumSource(
            value = RedisProtocol.class,
            names = {"RESP2", "RESP3"})
    void ask_anyProtocol_bringsTextsNumbersListsAndMaps(RedisProtocol protocol) {
        JedisClientConfig config =
                DefaultJedisClientConfig.builder().protocol(protocol).build();
        JedisRedis redis = closing(new JedisRedis(shared.address(), config, 2));
        List<List<String>> commands = List.of(
                List.of("ECHO", "k€y"),
                List.of("DEL", "asked"),
                List.of("GET", "asked"),
                List.of("HSET", "asked", "name", "value"),
                List.of("HGETALL", "asked"),
                List.of("EVAL", "return {1, {'a', {2}}}", "0"));
        assertThat(redis.ask("some commands", commands, LONG))
                .containsExactly("k€y", 0L, null, 1L, List.of("name", "value"), List.of(1L, List.of("a", List.of(2L))));
        redis.ask("an end", List.of(List.of("DEL", "asked")), LONG);
    }

    @Test
    void ask_errorReply_refusedWithTheServersText() {
        assertThatThrownBy(() -> to(shared).ask("an error", List.of(List.of("PING"), List.of("GET")), LONG))
                .isInstanceOf(Refused.class)
                .hasMessageContaining("an error")
                .cause()
                .isInstanceOf(ErrorReply.class)
                .hasMessageStartingWith("ERR wrong number of arguments");
    }

    @Test
    void run_number_standsForOkAndItself() {
        assertThat(to(shared).run(call("number"), LONG)).isEqualTo(new Reply("OK", List.of(1L)));
    }

    @Test
    void run_answerWithoutCode_isNoAnswer() {
        JedisRedis redis = to(shared);
        assertThatThrownBy(() -> redis.run(call("no list"), LONG))
                .isInstanceOf(Unanswered.class)
                .hasMessageContaining("no code");
        assertThat(redis.runAll(List.of(call("false in a list"), PING), LONG))
                .satisfiesExactly(
                        bad -> assertThat(bad.failure()).isInstanceOf(Unanswered.class),
                        good -> assertThat(good.failure()).isNull());
    }

    @Test
    void run_scriptsFlushed_sourceIsSentOnce() {
        JedisRedis redis = to(shared);
        redis.run(PING, LONG);
        try (Jedis admin = shared.client()) {
            admin.scriptFlush();
            assertThat(redis.run(PING, LONG)).isEqualTo(new Reply("PONG", List.of(), false));
            assertThat(admin.scriptExists(PING.script().sha1())).isTrue();
        }
    }

    @Test
    void run_configOfTheUser_isKept() {
        JedisClientConfig config = DefaultJedisClientConfig.builder()
                .database(3)
                .clientName("my-app")
                .build();
        JedisRedis redis = closing(new JedisRedis(shared.address(), config, 2));
        redis.run(call("set", "in-three"), LONG);
        try (Jedis admin = shared.client()) {
            assertThat(admin.clientList()).contains("name=my-app");
            assertThat(admin.exists("in-three")).isFalse();
            admin.select(3);
            assertThat(admin.exists("in-three")).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = RedisProtocol.class,
            names = {"RESP2", "RESP3"})
    void run_withPassword_onlyTheRightOneIsLetIn(RedisProtocol protocol) {
        RedisServer server = closing(RedisServer.start());
        try (Jedis admin = server.client()) {
            admin.aclSetUser("app", "on", ">s3cret", "~*", "&*", "+@all");
            admin.aclSetUser("default", "off");
        }
        assertThat(withPassword(server, protocol, "s3cret").run(PING, LONG).code())
                .isEqualTo("PONG");
        JedisRedis wrong = withPassword(server, protocol, "gu3ss");
        assertThatThrownBy(() -> wrong.run(PING, LONG))
                .isInstanceOf(Refused.class)
                .hasMessageStartingWith("WRONGPASS")
                .hasMessageNotContaining("gu3ss");
        assertThat(wrong.runAll(List.of(PING, PING), LONG))
                .allSatisfy(outcome -> assertThat(outcome.failure()).isInstanceOf(Refused.class));
        assertThatThrownBy(() -> wrong.subscribe("news", LONG)).isInstanceOf(Refused.class);
        JedisClientConfig none =
                DefaultJedisClientConfig.builder().protocol(protocol).build();
        JedisRedis without = closing(new JedisRedis(server.address(), none, 2));
        assertThatThrownBy(() -> without.run(PING, LONG))
                .isInstanceOf(Refused.class)
                .hasMessageStartingWith("NOAUTH");
    }

    @Test
    void close_callsUnderWay_failAndLaterOnesToo() {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 2));
        redis.run(PING, LONG);
        proxy.holdReplies();
        FutureTask<Reply> onIdle = started(redis, PING);
        await().until(() -> proxy.openConnections() == 1);
        FutureTask<Reply> connecting = started(redis, PING);
        FutureTask<List<Outcome>> batch = started(() -> redis.runAll(List.of(PING), LONG));
        await().until(() -> proxy.openConnections() == 3);
        FutureTask<Reply> waiting = started(redis, PING);
        redis.close();
        for (FutureTask<Reply> call : List.of(onIdle, connecting, waiting)) {
            assertThatThrownBy(call::get).cause().isInstanceOf(Unanswered.class).hasMessageContaining("closed");
        }
        assertThat(got(batch).get(0).failure()).isInstanceOf(Unanswered.class);
        assertThatThrownBy(() -> redis.run(PING, LONG))
                .isInstanceOfSatisfying(
                        Unanswered.class, e -> assertThat(e.sent()).isFalse())
                .hasMessageContaining("closed");
        assertThat(redis.runAll(List.of(PING), LONG).get(0).failure()).isInstanceOf(Unanswered.class);
        assertThatThrownBy(() -> redis.subscribe("news", LONG)).isInstanceOf(Unanswered.class);
        assertThatThrownBy(() -> redis.publish("news", "x", LONG)).isInstanceOf(Unanswered.class);
        await().until(() -> proxy.openConnections() == 0);
        await().until(() -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().contains(redis.address())));
    }
}
