package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.redis.jedis.AnswerBuffer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/** Reading answers from bytes, however the network cuts them into pieces. */
class AnswerBufferTest {

    private static final String SOME =
            "*6 $5 VOTED :1790000000999000 :-1 $0  $-1 _ :7 +OK *0 *-1 $2 \r\n *2 *1 :1 :2 ".replace(" ", "\r\n");

    private final AnswerBuffer buffer = new AnswerBuffer();

    private void put(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        int from = 0;
        while (from < bytes.length) {
            ByteBuffer space = buffer.space();
            int count = Math.min(space.remaining(), bytes.length - from);
            space.put(bytes, from, count);
            buffer.filled(count);
            from += count;
        }
    }

    private List<Object> all() {
        List<Object> answers = new ArrayList<>();
        for (Object next = buffer.next(); next != AnswerBuffer.MISSING; next = buffer.next()) {
            answers.add(readable(next));
        }
        return answers;
    }

    private static Object readable(Object answer) {
        if (answer instanceof byte[] text) {
            return new String(text, StandardCharsets.UTF_8);
        }
        return answer instanceof List<?> list
                ? list.stream().map(AnswerBufferTest::readable).toList()
                : String.valueOf(answer);
    }

    private static final List<Object> READ = List.of(
            List.of("VOTED", "1790000000999000", "-1", "", "null", "null"),
            "7",
            "OK",
            List.of(),
            "null",
            "\r\n",
            List.of(List.of("1"), "2"));

    @Test
    void answers_thatComeTogether_areReadOneByOne() {
        put(SOME);
        assertThat(all()).isEqualTo(READ);
        assertThat(buffer.isEmpty()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7})
    void answers_inPieces_areReadWhenTheyAreWhole(int size) {
        List<Object> answers = new ArrayList<>();
        for (int from = 0; from < SOME.length(); from += size) {
            put(SOME.substring(from, Math.min(SOME.length(), from + size)));
            answers.addAll(all());
        }
        assertThat(answers).isEqualTo(READ);
        assertThat(buffer.isEmpty()).isTrue();
    }

    @Test
    void answer_longerThanTheBuffer_isReadWhole() {
        String text = "x".repeat(100_000);
        put(":1\r\n");
        assertThat(all()).containsExactly("1");
        put("$100000\r\n" + text + "\r\n:2\r\n");
        assertThat(all()).containsExactly(text, "2");
    }

    @Test
    void error_isAnAnswer_ofTheKindThatJedisMakesOfIt() {
        put("-NOSCRIPT No matching script.\r\n*1\r\n-ERR of one\r\n-READONLY no\r\n");
        assertThat(buffer.next()).isInstanceOf(JedisNoScriptException.class);
        assertThat(buffer.next())
                .asInstanceOf(org.assertj.core.api.InstanceOfAssertFactories.LIST)
                .singleElement()
                .isInstanceOf(JedisDataException.class);
        assertThat(buffer.next())
                .isInstanceOf(JedisDataException.class)
                .hasToString("redis.clients.jedis.exceptions.JedisDataException: READONLY no");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200\r\n",
                ":1x\r\n",
                "$a\r\n",
                "*1\r\n?\r\n",
                "$9000000000\r\n",
                "$99999999999999999999\r\n",
                "*5000000\r\n",
                "$1\r\nxyz",
                "$-x\r\n",
                ":\r\n"
            })
    void bytesThatRedisNeverSends_areRefused(String text) {
        put(text);
        assertThatThrownBy(buffer::next).isInstanceOf(JedisConnectionException.class);
    }

    @Test
    void lists_inListsWithoutEnd_areRefusedBeforeTheStackEnds() {
        put("*1\r\n".repeat(100_000));
        assertThatThrownBy(buffer::next).isInstanceOf(JedisConnectionException.class);
    }

    @Test
    void moreThanAnyScriptAnswers_isRefused() {
        String half = "x".repeat(3 << 20);
        assertThatThrownBy(() -> {
                    put("$9000000\r\n" + half);
                    put(half);
                })
                .isInstanceOf(JedisConnectionException.class);
    }
}
