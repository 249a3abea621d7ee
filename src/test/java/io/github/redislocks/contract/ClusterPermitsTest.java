package io.github.redislocks.contract;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.ClusterServers;
import org.junit.jupiter.api.Tag;

/** The contract of permits, in a cluster. */
@Tag("server")
class ClusterPermitsTest extends PermitsContractTest {

    @Override
    protected RedisLocks connect() {
        return RedisLocks.connect(ClusterServers.shared().uri());
    }
}
