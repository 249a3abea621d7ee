package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The pauses after which a master that does not answer is asked again. */
class BreakerPauseTest {

    private static final long MILLI = 1_000_000;
    /** How long a probe may take. */
    private static final long PROBE = 1_000 * MILLI;

    private final CircuitBreaker breaker = new CircuitBreaker();
    private long now = Long.MAX_VALUE - MILLI;

    private boolean enterAfter(long millis) {
        now += millis * MILLI;
        return breaker.enter(now, PROBE);
    }

    /** Asserts that a call may ask after this pause, and not before. */
    private void assertPaused(long millis) {
        assertThat(breaker.enter(now + millis * MILLI - 1, PROBE)).isFalse();
        assertThat(enterAfter(millis)).isTrue();
    }

    @Test
    void masterThatAnswers_isAskedByAll() {
        assertThat(enterAfter(0)).isTrue();
        assertThat(enterAfter(0)).isTrue();
    }

    @Test
    void masterThatFailed_isAskedByOneOnceItsPauseIsOver() {
        breaker.failed(now, "away");
        assertThat(breaker.why()).isEqualTo("away (a moment ago)");
        assertPaused(10);
        assertThat(enterAfter(1)).as("another asks").isFalse();
        breaker.unknown(now);
        assertThat(enterAfter(0)).as("nothing was learned").isTrue();
        breaker.answered();
        assertThat(enterAfter(0)).isTrue();
        assertThat(enterAfter(0)).isTrue();
    }

    @Test
    void master_notProbedForLong_isOverdue_andAgainAfterTheLongestPause() {
        assertThat(breaker.isOverdue(now)).as("nothing has failed").isFalse();
        breaker.failed(now, "away");
        assertThat(breaker.isOverdue(now + 510 * MILLI - 1)).isFalse();
        now += 510 * MILLI;
        assertThat(breaker.isOverdue(now)).isTrue();
        assertThat(enterAfter(0)).isTrue();
        breaker.unknown(now);
        assertThat(breaker.isOverdue(now + 500 * MILLI - 1)).isFalse();
        assertThat(breaker.isOverdue(now + 500 * MILLI)).isTrue();
        assertThat(enterAfter(0)).as("a call with time").isTrue();
        breaker.answered();
        assertThat(breaker.isOverdue(now + 5_000 * MILLI)).isFalse();
    }

    @Test
    void masterThatFailsAgain_isAskedAfterTwiceThePauseUpToABound() {
        breaker.failed(now, "away");
        for (long pause : new long[] {10, 20, 40, 80, 160, 320, 500, 500}) {
            assertPaused(pause);
            breaker.failed(now, "away");
        }
        assertPaused(500);
        breaker.answered();
        breaker.failed(now, "away");
        assertPaused(10);
    }

    @Test
    void probe_thatReportsNothing_isFollowedByTheNextOnceItsTimeIsOver() {
        breaker.failed(now, "away");
        assertPaused(10);
        assertPaused(1_000);
    }

    @Test
    void callsThatFailTogether_areOneFailure() {
        breaker.failed(now, "away");
        breaker.failed(now + 10 * MILLI - 1, "away");
        assertPaused(10);
    }
}
