package io.github.redislocks.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.client.SteppedClient;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A thread that wants to return from a Condition, and whose requests come too late, does not ask without a pause. */
class LateRejoinTest extends SteppedClient {

    @Test
    void rejoinThatComesTooLate_isRepeatedAfterAPause() throws InterruptedException {
        begin();
        sync.lock();
        for (int i = 0; i < 100; i++) {
            answer("rejoin", "LATE");
        }
        assertThat(client.condition(sync, "#1").await(10, TimeUnit.MILLISECONDS))
                .isFalse();
        assertThat(sync.hold()).isNotNull();
        assertThat(parks.size())
                .as("pauses between " + count("rejoin") + " requests")
                .isGreaterThan(40);
    }
}
