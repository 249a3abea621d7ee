package io.github.redislocks.residency;

import io.github.redislocks.client.SteppedClient;
import io.github.redislocks.engine.Sync;
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
        return residences.of(kept.keys(), 1);
    }
}
