package io.github.redislocks.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How a thread has its hold back from a Condition where replicas have to confirm that. */
@Timeout(30)
class ConditionReplicaStepsTest extends SteppedClient {

    private final RedisCondition condition = client.condition(sync, "#1");

    @Override
    Settings options() {
        return super.options()
                .withRetryFor(Duration.ofSeconds(1))
                .withCommandTimeout(Duration.ofSeconds(1))
                .withReplicaAcks(2, Duration.ofMillis(100));
    }

    private void signal() {
        other.lock(LEASE, true);
        others.condition(other, "#1").signal();
        other.unlock();
        await().until(() -> !attempt().undecided());
    }

    @Test
    void grantThatTooFewConfirm_isOpenUntilMoreDo() {
        openMailbox();
        sync.lock(LEASE, true);
        steps.add(() -> {
            redis.confirmBy(1);
            signal();
        });
        steps.add(() -> {
            assertThat(parks.get(1)).isBetween(1L, 10 * MILLI);
            clock.advanceMillis(10);
            redis.confirmBy(2);
        });
        condition.awaitUninterruptibly();
        assertThat(sync.held()).isNotNull();
        assertThat(count("renew")).isEqualTo(2);
    }

    @Test
    void grantThatTooFewConfirmForLong_fails() {
        openMailbox();
        sync.lock(LEASE, true);
        steps.add(() -> {
            redis.confirmBy(1);
            signal();
        });
        long began = clock.nanoTime();
        assertThatThrownBy(condition::awaitUninterruptibly)
                .isInstanceOf(LockUnavailableException.class)
                .hasFieldOrPropertyWithValue("reason", LockUnavailableException.Reason.TOO_FEW_REPLICAS);
        assertThat(clock.nanoTime() - began).isBetween(1_000 * MILLI, 1_600 * MILLI);
        assertThat(sync.held()).isNull();
    }
}
