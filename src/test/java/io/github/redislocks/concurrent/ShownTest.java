package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ShownTest {

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
