package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The calls that may ask a master, given the outcomes of earlier calls. */
class NodeHealthTest {

    private static final long SECOND = 1_000_000_000;
    private static final long LITTLE = 10_000_000;
    /** Longer than the first pause, and shorter than the longest. */
    private static final long PAUSE = 200_000_000;

    private final NodeHealth health = health(SECOND);

    private static NodeHealth health(long awayNanos) {
        return new NodeHealth(() -> "a:1", awayNanos, () -> true, Threads.DAEMONS);
    }

    private static void fails(NodeHealth health, long timeoutNanos) {
        health.note(List.of(Outcome.of(new RedisException.Unanswered("silent", true, null))), timeoutNanos);
    }

    @Test
    void masterDown_isProbedByACallWithEnoughTime() {
        assertThat(health.enter(System.nanoTime(), 1)).as("nothing has failed").isTrue();
        fails(health, SECOND);
        long later = System.nanoTime() + PAUSE;
        assertThat(health.enter(later, LITTLE - 1)).isFalse();
        assertThat(health.enter(later, LITTLE)).isTrue();
        health.answered();
        assertThat(health.enter(later, 1)).isTrue();
    }

    /** Where no call may take longer, no call could probe the master otherwise. */
    @Test
    void masterDown_isProbedByACallWithHalfACommandTimeout() {
        long half = 4_000_000;
        NodeHealth brief = health(half);
        fails(brief, SECOND);
        assertThat(brief.enter(System.nanoTime() + PAUSE, half - 1)).isFalse();
        assertThat(brief.enter(System.nanoTime() + PAUSE, half)).isTrue();
    }

    /** However long calls are delayed before they can be sent. */
    @Test
    void masterDown_notProbedForLong_isProbedByAnyCall() {
        fails(health, SECOND);
        long later = System.nanoTime() + SECOND;
        assertThat(health.enter(later, 1)).isTrue();
        assertThat(health.enter(later, 1)).as("one probe at a time").isFalse();
    }
}
