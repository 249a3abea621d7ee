package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests how often a trouble that comes and goes is logged. */
class LogLimiterTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final LogLimiter limiter = new LogLimiter();

    @Test
    void start_ofOneTrouble_isLoggedOnceAndStopsOnce() {
        assertThat(limiter.stop()).as("without a trouble").isZero();
        assertThat(limiter.start(1 * SECOND, 2 * SECOND)).isTrue();
        assertThat(limiter.start(1 * SECOND, 3 * SECOND)).isFalse();
        assertThat(limiter.start(1 * SECOND, 60 * SECOND))
                .as("the trouble lasts")
                .isFalse();
        assertThat(limiter.stop()).isEqualTo(1 * SECOND);
        assertThat(limiter.stop()).isZero();
    }

    @Test
    void start_soonAfterALoggedTrouble_isLoggedOnceItHasLasted() {
        assertThat(limiter.start(1 * SECOND, 1 * SECOND)).isTrue();
        assertThat(limiter.stop()).isEqualTo(1 * SECOND);
        assertThat(limiter.start(2 * SECOND, 3 * SECOND)).isFalse();
        assertThat(limiter.stop()).as("the trouble was not logged").isZero();
        assertThat(limiter.start(4 * SECOND, 11 * SECOND - 1)).isFalse();
        assertThat(limiter.start(4 * SECOND, 11 * SECOND)).isTrue();
        assertThat(limiter.stop()).as("since the trouble started").isEqualTo(4 * SECOND);
    }
}
