package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which calls may ask a master, by what became of others. */
class NodeHealthTest {

    private static final long SECOND = 1_000_000_000;
    private static final long LITTLE = 10_000_000;

    private final NodeHealth health = new NodeHealth(() -> "a:1", SECOND, () -> true, Threads.DAEMONS);

    @Test
    void masterThatIsDown_isAskedByACallThatHasTimeToTell() {
        assertThat(health.enter(System.nanoTime(), 1)).as("nothing has failed").isTrue();
        health.note(List.of(Outcome.of(new RedisException.Unanswered("silent", true, null))), SECOND);
        long later = System.nanoTime() + SECOND;
        assertThat(health.enter(later, LITTLE - 1)).isFalse();
        assertThat(health.enter(later, LITTLE)).isTrue();
        health.answered();
        assertThat(health.enter(later, 1)).isTrue();
    }
}
