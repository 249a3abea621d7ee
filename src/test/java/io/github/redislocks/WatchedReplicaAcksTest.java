package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.state.Settings;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** A renewal that too few replicas confirmed, while deletions are watched. */
class WatchedReplicaAcksTest extends FakeTime {

    @Override
    Settings options() {
        return Settings.DEFAULTS.withWatchDeletions(true).withReplicaAcks(1);
    }

    /** After the inner unlock a hold of a fixed lease is asked about once, for the rest of that lease only. */
    @Test
    void renewal_thatTooFewConfirm_isEndedInRedisWithTheHold_thoughAShorterOneIsConfirmed() {
        redis.confirmBy(1);
        fixed(lock, Duration.ofSeconds(5)).lock();
        lock.lock();
        redis.confirmBy(0);
        pass(10_900);
        lock.unlock();
        redis.confirmBy(1);
        for (int i = 0; i < 60 && losses.isEmpty(); i++) {
            pass(1_000);
        }
        assertThat(losses).hasSize(1);
        pass(2_000);
        assertThat(server.hash(KEY))
                .as("the renewal prolonged the hold in Redis")
                .isEmpty();
    }
}
