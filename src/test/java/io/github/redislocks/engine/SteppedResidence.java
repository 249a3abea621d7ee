package io.github.redislocks.engine;

import io.github.redislocks.state.Residence;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;

/** A client without background work that keeps a lock. */
abstract class SteppedResidence extends SteppedClient {

    static final Settings KEEPING = Settings.DEFAULTS.withResidency(Duration.ofHours(1));

    final Sync kept = client.lock("job", false, KEEPING);

    @BeforeEach
    void listen() {
        begin();
    }

    final Residence residence() {
        return client.residences.of(kept.keys(), 1);
    }
}
