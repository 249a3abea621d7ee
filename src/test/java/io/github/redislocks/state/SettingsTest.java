package io.github.redislocks.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.redis.Acks;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SettingsTest {

    private static final Duration SECOND = Duration.ofSeconds(1);

    private static final Settings SECONDS =
            Settings.DEFAULTS.withLease(SECOND).withRetryFor(SECOND).withCommandTimeout(SECOND);

    @ParameterizedTest
    @ValueSource(strings = {"", "a{b", "a}b", "half \uD83D"})
    void prefix_thatCannotWork_isRefusedWithValueAndRemedy(String prefix) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SECONDS.withKeyPrefix(prefix))
                .withMessageContaining("\"" + prefix + "\"")
                .withMessageContaining("redis-locks");
    }

    @Test
    void lease_limits_areInclusive() {
        assertThat(SECONDS.withLease(Duration.ofMillis(100)).leaseMillis()).isEqualTo(100);
        assertThat(SECONDS.withLease(Duration.ofHours(24)).leaseMillis()).isEqualTo(86_400_000);
        assertThatIllegalArgumentException().isThrownBy(() -> Settings.checkLease(Duration.ofNanos(99_999_999)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Settings.checkLease(Duration.ofHours(24).plusNanos(1)))
                .withMessageContaining("24 h")
                .withMessageContaining("renewed for as long as a hold lasts");
    }

    @Test
    void numbers_thatCannotWork_areRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SECONDS.withRetryFor(Duration.ofSeconds(-1)))
                .withMessageContaining("-1 s");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SECONDS.withCommandTimeout(Duration.ZERO))
                .withMessageContaining("0 s");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SECONDS.withMaxConnections(0))
                .withMessageContaining("0");
        Duration endless = Duration.ofSeconds(Long.MAX_VALUE);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SECONDS.withCommandTimeout(endless))
                .withMessageContaining(Shown.of(endless))
                .withMessageContaining("between 1 ms and 60 s");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SECONDS.withLease(endless))
                .withMessageContaining(Shown.of(endless))
                .withMessageContaining("The default is 30 s");
        assertThatCode(() -> SECONDS.withRetryFor(Duration.ZERO).checked()).doesNotThrowAnyException();
    }

    @Test
    void slowTimes_limits_areInclusive() {
        assertThat(SECONDS.withSlowWait(Duration.ofMillis(10)).slowWaitNanos()).isEqualTo(10_000_000);
        assertThat(SECONDS.withSlowHold(Duration.ofHours(24)).slowHoldNanos()).isEqualTo(86_400_000_000_000L);
        assertThat(SECONDS.withSlowHold(Duration.ZERO).slowHoldNanos()).isZero();
        for (Duration bad : List.of(Duration.ofMillis(9), Duration.ofSeconds(-1), Duration.ofHours(25))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> SECONDS.withSlowWait(bad))
                    .withMessageContainingAll(
                            "slowWait is " + Shown.of(bad), "between 10 ms and 24 h", "Duration.ZERO");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> SECONDS.withSlowHold(bad))
                    .withMessageContainingAll(
                            "slowHold is " + Shown.of(bad), "between 10 ms and 24 h", "Duration.ZERO");
        }
    }

    @Test
    void commandTimeout_longerThanTheLease_isRefusedWithTheRemedy() {
        Settings longer = SECONDS.withCommandTimeout(SECOND.plusMillis(1));
        assertThatIllegalArgumentException()
                .isThrownBy(longer::checked)
                .withMessageContaining("1001 ms")
                .withMessageContaining("or a longer lease");
    }

    @Test
    void replicaAcks_thatCannotWork_areRefusedWithTheRemedy() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SECONDS.withReplicaAcks(-1))
                .withMessageContaining("-1")
                .withMessageContaining("0, to wait for no replica");
        assertThat(SECONDS.withReplicaAcks(1).checked().acks()).isEqualTo(new Acks(1, 500_000_000));
        assertThat(SECONDS.withReplicaAcks(0).checked().acks()).isNull();
    }

    @Test
    void failoverGrace_thatCannotWork_isRefusedWithTheRemedy() {
        for (Duration grace : List.of(Duration.ofNanos(-1), Duration.ofHours(24).plusNanos(1))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> SECONDS.withFailoverGrace(grace))
                    .withMessageContaining(Shown.of(grace))
                    .withMessageContaining("longest lease in use, such as 1 s");
        }
    }

    @Test
    void failoverGrace_belowTheLease_isRefusedWithTheRemedy() {
        Settings brief = SECONDS.withFailoverGrace(Duration.ofMillis(999));
        assertThatIllegalArgumentException()
                .isThrownBy(brief::checked)
                .withMessageContaining("999 ms")
                .withMessageContaining("longest lease in use");
        assertThat(SECONDS.withFailoverGrace(SECOND).checked()).isNotNull();
        assertThat(SECONDS.withFailoverGrace(Duration.ZERO).checked()).isNotNull();
    }

    @Test
    void maxHold_limits_areInclusive_andZeroIsNone() {
        assertThat(Settings.DEFAULTS.maxHoldMillis()).isZero();
        assertThat(Settings.DEFAULTS.withMaxHold(Duration.ofMillis(100)).maxHoldMillis())
                .isEqualTo(100);
        assertThat(Settings.DEFAULTS.withMaxHold(Duration.ofDays(30)).maxHoldMillis())
                .isEqualTo(2_592_000_000L);
        assertThat(Settings.DEFAULTS
                        .withMaxHold(Duration.ofDays(30))
                        .withMaxHold(Duration.ZERO)
                        .maxHoldMillis())
                .isZero();
        for (Duration time : List.of(
                Duration.ofMillis(99), Duration.ofDays(30).plusNanos(1), Duration.ofNanos(1), Duration.ofSeconds(-1))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Settings.DEFAULTS.withMaxHold(time))
                    .withMessageContaining(Shown.of(time))
                    .withMessageContaining("between 100 ms and 720 h")
                    .withMessageContaining("Duration.ZERO");
        }
    }

    @Test
    void change_leavesTheOriginalAsItWas() {
        Settings changed = SECONDS.withLocalReentry(true).withMaxConnections(3);
        assertThat(changed.localReentry()).isTrue();
        assertThat(changed.lease()).isEqualTo(SECOND);
        assertThat(SECONDS.localReentry()).isFalse();
        assertThat(SECONDS.maxConnections()).isEqualTo(Settings.DEFAULT_MAX_CONNECTIONS);
    }

    @Test
    void derivedTimes_followTheLease() {
        assertThat(Timing.heartbeatMillis(30_000)).isEqualTo(1_500);
        assertThat(Timing.heartbeatMillis(900)).isEqualTo(300);
        assertThat(Timing.claimMillis(30_000)).isEqualTo(4_500);
        assertThat(Timing.claimMillis(100)).isLessThanOrEqualTo(100);
        assertThat(Timing.validityNanos(30_000)).isEqualTo(29_698_000_000L);
        assertThat(Timing.validityNanos(100)).isEqualTo(97_000_000L);
    }
}
