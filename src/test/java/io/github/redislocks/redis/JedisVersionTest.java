package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.redis.jedis.JedisVersion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JedisVersionTest {

    @ParameterizedTest
    @ValueSource(strings = {"5.2.0", "4.4.8", "3.10.0", "5.3.0-beta1"})
    void olderVersion_isNamedWithTheNeededVersionAndTheProperty(String version) {
        assertThatThrownBy(() -> JedisVersion.check(version))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Jedis " + version + " is on the class path")
                .hasMessageContaining("needs 6.0.0 or later")
                .hasMessageContaining("<jedis.version>");
    }

    @ParameterizedTest
    @ValueSource(strings = {"6.0.0", "7.4.1", "8.0.2", "10.0.0", "", "unknown"})
    void laterOne_orOneThatDoesNotSay_isTaken(String version) {
        assertThatCode(() -> JedisVersion.check(version)).doesNotThrowAnyException();
    }

    @Test
    void presentOne_isKnown_andTheOneThatTheRunIsToBeWith() {
        assertThat(JedisVersion.present()).matches("\\d+\\.\\d+\\.\\d+.*");
        assertThat(JedisVersion.present()).startsWith(System.getProperty("test.jedis", ""));
    }

    @Test
    void connect_withAnOlderOne_isRefusedBeforeAnythingElse() {
        assumeTrue(JedisVersion.present().startsWith("5."), "not the Jedis of this run");
        assertThatThrownBy(() -> RedisLocks.connect("rediss://localhost:1"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is on the class path");
    }
}
