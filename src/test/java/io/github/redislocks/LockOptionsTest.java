package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.redislocks.redis.Acks;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LockOptionsTest {

    private static final Duration SECOND = Duration.ofSeconds(1);

    @ParameterizedTest
    @ValueSource(strings = {"", "a{b", "a}b", "half \uD83D"})
    void prefix_thatCannotWork_isRefusedWithValueAndRemedy(String prefix) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new LockOptions(prefix, SECOND, SECOND, SECOND, 1))
                .withMessageContaining("\"" + prefix + "\"")
                .withMessageContaining("redis-locks");
    }

    @Test
    void lease_limits_areInclusive() {
        assertThat(LockOptions.checkLease(Duration.ofMillis(100))).isEqualTo(100);
        assertThat(LockOptions.checkLease(Duration.ofHours(24))).isEqualTo(86_400_000);
        assertThatIllegalArgumentException().isThrownBy(() -> LockOptions.checkLease(Duration.ofNanos(99_999_999)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockOptions.checkLease(Duration.ofHours(24).plusNanos(1)))
                .withMessageContaining("PT24H")
                .withMessageContaining("watchdog");
    }

    @Test
    void numbers_thatCannotWork_areRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new LockOptions("p", SECOND, Duration.ofSeconds(-1), SECOND, 1))
                .withMessageContaining("PT-1S");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new LockOptions("p", SECOND, SECOND, Duration.ZERO, 1))
                .withMessageContaining("PT0S");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new LockOptions("p", SECOND, SECOND, SECOND, 0))
                .withMessageContaining("0");
        assertThatCode(() -> new LockOptions("p", SECOND, Duration.ZERO, SECOND, 1))
                .doesNotThrowAnyException();
    }

    @Test
    void replicaAcks_thatCannotWork_areRefusedWithTheRemedy() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new LockOptions("p", SECOND, SECOND, SECOND, 1, -1, SECOND, Duration.ZERO, false))
                .withMessageContaining("-1")
                .withMessageContaining("0, to wait for no replica");
        for (Duration timeout : List.of(Duration.ZERO, Duration.ofNanos(999_999), SECOND.plusNanos(1))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new LockOptions("p", SECOND, SECOND, SECOND, 1, 1, timeout, Duration.ZERO, false))
                    .withMessageContaining(timeout.toString())
                    .withMessageContaining("command timeout, which is PT1S");
        }
        assertThat(new LockOptions("p", SECOND, SECOND, SECOND, 1, 1, SECOND, Duration.ZERO, false).acks())
                .isEqualTo(new Acks(1, 1_000_000_000));
        assertThat(new LockOptions("p", SECOND, SECOND, SECOND, 1, 0, Duration.ZERO, Duration.ZERO, false).acks())
                .isNull();
    }

    @Test
    void failoverGrace_thatCannotWork_isRefusedWithTheRemedy() {
        for (Duration grace : List.of(Duration.ofNanos(-1), Duration.ofHours(24).plusNanos(1))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new LockOptions("p", SECOND, SECOND, SECOND, 1, 0, SECOND, grace, false))
                    .withMessageContaining(grace.toString())
                    .withMessageContaining("longest lease in use, such as PT1S");
        }
    }

    @Test
    void derivedTimes_followTheLease() {
        assertThat(LockOptions.heartbeatMillis(30_000)).isEqualTo(1_500);
        assertThat(LockOptions.heartbeatMillis(900)).isEqualTo(300);
        assertThat(LockOptions.claimMillis(30_000)).isEqualTo(4_500);
        assertThat(LockOptions.claimMillis(100)).isLessThanOrEqualTo(100);
        assertThat(LockOptions.validityNanos(30_000)).isEqualTo(29_698_000_000L);
        assertThat(LockOptions.validityNanos(100)).isEqualTo(97_000_000L);
    }
}
