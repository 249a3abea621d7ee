package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.HostAndPort;

class RedisUriTest {

    @Test
    void parse_everyPart_isUsed() {
        RedisUri uri = RedisUri.parse("redis://us%40er:p%3Ass+word@example.org:7000/3");
        assertThat(uri.address()).isEqualTo(new HostAndPort("example.org", 7000));
        assertThat(uri.config().getUser()).isEqualTo("us@er");
        assertThat(uri.config().getPassword()).isEqualTo("p:ss+word");
        assertThat(uri.config().getDatabase()).isEqualTo(3);
        assertThat(uri.config().getSslOptions()).isNull();
    }

    @Test
    void parse_least_hasDefaults() {
        RedisUri uri = RedisUri.parse("redis://localhost");
        assertThat(uri.address()).isEqualTo(new HostAndPort("localhost", 6379));
        assertThat(uri.config().getPassword()).isNull();
        assertThat(uri.config().getDatabase()).isZero();
        assertThat(RedisUri.parse("redis://[::1]:6380/").address()).isEqualTo(new HostAndPort("::1", 6380));
        assertThat(RedisUri.parse("rediss://:secret@localhost").config().getSslOptions())
                .isNotNull();
    }

    @ParameterizedTest
    @CsvSource({
        "localhost:6379, must begin with redis://",
        "http://localhost, must begin with redis://",
        "redis://, is not a URI",
        "redis:///0, names no host",
        "redis://localhost:0, the port 0",
        "redis://localhost:70000, the port 70000",
        "redis://localhost/x, must be a number from 0",
        "redis://localhost/-1, the database",
        "redis://localhost?timeout=1, parameters",
        "redis://name@localhost, no password",
        "redis://local host, is not a URI"
    })
    void parse_whatCannotWork_isRefusedWithRuleAndRemedy(String uri, String rule) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisUri.parse(uri))
                .withMessageContaining(rule)
                .withMessageContaining("redis://host:port");
    }

    @Test
    void parse_refusal_hidesThePassword() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisUri.parse("redis://user:secret@localhost/x"))
                .withMessageNotContaining("secret");
    }
}
