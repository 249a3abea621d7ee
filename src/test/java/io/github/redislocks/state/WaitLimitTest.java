package io.github.redislocks.state;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WaitLimitTest {

    /** An interrupt that comes while the client closes: the call ends by the close, and the flag stays set. */
    @Test
    void restore_ofATryThatHasAskedTwice_setsTheFlag() {
        WaitLimit limit = WaitLimit.tryWithin(10, 0, 100, 1_000);
        limit.restart();
        Thread.currentThread().interrupt();
        assertThat(limit.interrupted()).isTrue();
        limit.restore();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void timeOfATry_beginsWithItsFirstRequest_andIsGivenAgainForTheNextLock() {
        WaitLimit limit = WaitLimit.forAnswer(100, 1_000);
        assertThat(limit.timeoutNanos(5_000, 300)).isEqualTo(100);
        assertThat(limit.remaining(5_070)).isEqualTo(30);
        limit.restart();
        assertThat(limit.remaining(9_000)).isEqualTo(100);
        assertThat(limit.timeoutNanos(9_060, 300)).isEqualTo(100);
        assertThat(limit.remaining(9_100)).isEqualTo(60);
    }

    @Test
    void timeOfAWait_isNeverGivenAgain() {
        WaitLimit limit = WaitLimit.tryWithin(10, 50, 100, 1_000);
        limit.restart();
        assertThat(limit.remaining(40)).isEqualTo(20);
    }
}
