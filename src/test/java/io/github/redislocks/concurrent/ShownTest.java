package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ShownTest {

    @Test
    void of_textThatControlsATerminal_hasJavaEscapes() {
        assertThat(Shown.of("a\u001b[31m\n\u202e\u2028\u0085")).isEqualTo("a\\u001b[31m\\u000a\\u202e\\u2028\\u0085");
        String tag = Character.toString(0xe0001);
        assertThat(Shown.of(tag + '!')).isEqualTo("\\udb40\\udc01!").isNotEqualTo(Shown.of("\ue000" + "1!"));
        String emoji = Character.toString(0x1f512);
        assertThat(Shown.of(emoji)).as("a character that controls nothing").isEqualTo(emoji);
    }

    @ParameterizedTest
    @CsvSource({
        "PT0S, 0 s",
        "PT30S, 30 s",
        "PT-1S, -1 s",
        "PT1M30S, 90 s",
        "PT24H, 24 h",
        "PT27H46M40S, 100000 s",
        "PT0.03S, 30 ms",
        "PT1.001S, 1001 ms",
        "PT0.000000001S, 0.000001 ms",
        "PT-0.5S, -500 ms",
        "PT2562047788015215H30M7.999999999S, 9223372036854775807999.999999 ms"
    })
    void of_time_hasItsUnit(Duration time, String text) {
        assertThat(Shown.of(time)).isEqualTo(text);
    }
}
