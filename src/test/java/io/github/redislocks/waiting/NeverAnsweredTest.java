package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.RedisException;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.Attempt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Without an answer, a leave keeps the next thread waiting for a bounded time, and not at all if the server is away.
 */
@Timeout(30)
class NeverAnsweredTest extends StillClient {

    @Test
    void leave_neverAnswered_passesTheTurnOnWithItsTime() {
        Attempt leaving = enter();
        Attempt next = enter();
        leaving.known();
        client.handoff().departLater(leaving);
        clock.advanceMillis(
                (2 * client.settings().commandTimeoutNanos() + client.settings().leftoverNanos(LEASE)) / MILLI);
        assertThat(command().isDue(clock.nanoTime())).isTrue();
        assertThat(next.isBehind()).isTrue();
        clock.advanceMillis(1);
        assertThat(command().isDue(clock.nanoTime())).isFalse();
        assertThat(next.isBehind()).as("the turn has passed on").isFalse();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void leave_whileTheServerIsAway_passesTheTurnOnAtOnce(boolean waits) {
        Attempt leaving = enter();
        Attempt next = enter();
        leaving.known();
        long sent = clock.nanoTime();
        clock.advanceMillis(10_000);
        RedisException away = new RedisException.Unanswered("away", true, null);
        client.monitored()
                .of(keys.lock())
                .failed(Inspections.locked(keys), away, sent, 2_000 * MILLI, clock.nanoTime());
        clock.advanceMillis(1);
        if (waits) {
            // Returns, though no time passes.
            client.handoff().depart(leaving);
        } else {
            client.handoff().departLater(leaving);
        }
        assertThat(next.isBehind()).isFalse();
        assertThat(commands()).hasSize(1);
    }
}
