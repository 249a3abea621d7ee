package io.github.redislocks.testkit.twin;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.Snippets;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Script;
import io.github.redislocks.redis.jedis.JedisRedis;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import redis.clients.jedis.DefaultJedisClientConfig;

/** The in-memory Redis answers every snippet of {@code snippets.lua} as a real one does. */
@Tag("server")
class TwinMatchesRedisTest {

    private static final List<String> KEYS = List.of("a", "b", "c", "d");
    private static final List<String> ARGS = List.of("1", "two", "3.5", "", "süß", "1790000000000000");
    private static final Call RESET = new Call(script("reset", resource("reset.lua")), KEYS, List.of());

    private static RedisServer server;
    private static Redis real;
    private static Redis twin;

    @BeforeAll
    static void start() {
        server = RedisServer.start();
        real = new JedisRedis(
                server.address(), DefaultJedisClientConfig.builder().build(), 1);
        twin = new InMemoryRedis();
    }

    @AfterAll
    static void stop() {
        twin.close();
        real.close();
        server.close();
    }

    static Stream<Script> snippets() {
        String show = resource("show.lua");
        return new Snippets(TwinMatchesRedisTest.class, "snippets.lua")
                .sources().entrySet().stream().map(snippet -> script(snippet.getKey(), show + snippet.getValue()));
    }

    @ParameterizedTest
    @MethodSource("snippets")
    void run_snippet_answersAsRedisDoes(Script snippet) {
        Call call = new Call(snippet, KEYS, ARGS);
        assertThat(answer(twin, call)).isEqualTo(answer(real, call));
    }

    /** The reply, or what failed, without the names of script and server in an error. */
    private static String answer(Redis redis, Call call) {
        redis.run(RESET, TimeUnit.SECONDS.toNanos(2));
        try {
            return redis.run(call, TimeUnit.SECONDS.toNanos(2)).toString();
        } catch (RedisException.Refused e) {
            return "refused: "
                    + e.getMessage()
                            .replaceFirst(" script: .*, on", " script: ..., on")
                            .replaceFirst(" \\([^()]*\\)$", "");
        } catch (RedisException.Unanswered e) {
            return "unanswered";
        }
    }

    private static Script script(String name, String source) {
        return new Script(name, source, name);
    }

    private static String resource(String name) {
        try (InputStream in = TwinMatchesRedisTest.class.getResourceAsStream(name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
