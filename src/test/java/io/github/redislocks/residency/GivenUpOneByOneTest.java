package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.client.SteppedClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How locks leave that a client of a cluster has kept: their keys lie in several slots. */
class GivenUpOneByOneTest extends SteppedClient {

    private static final Settings KEEPING = Settings.DEFAULTS.withResidency(Duration.ofSeconds(1));

    @Override
    protected boolean hasOneSlot() {
        return false;
    }

    @Test
    void leasesOfACluster_endByARequestEach() {
        openMailbox();
        for (String name : List.of("a", "b")) {
            Sync lock = client.lock(name, false, KEEPING);
            lock.lock();
            lock.unlock();
        }
        clock.advanceMillis(1_200);
        residences.inspect(clock.nanoTime(), clock.nanoTime(), (key, job) -> {});
        assertThat(commands()).containsExactly("release", "release");
    }
}
