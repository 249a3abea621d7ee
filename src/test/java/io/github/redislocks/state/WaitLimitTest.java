package io.github.redislocks.state;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WaitLimitTest {

    /** An interrupt that comes while the client closes: the call ends by the close, and the flag stays set. */
    @Test
    void restore_ofATryThatHasAskedTwice_setsTheFlag() {
        WaitLimit limit = WaitLimit.tryWithin(10, 0, 100, 1_000);
        limit.restart(15);
        Thread.currentThread().interrupt();
        assertThat(limit.interrupted()).isTrue();
        limit.restore();
        assertThat(Thread.interrupted()).isTrue();
    }
}
