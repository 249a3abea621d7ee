package io.github.redislocks.contract;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServers;
import org.junit.jupiter.api.Tag;

/** The contract of permits, on one server. */
@Tag("server")
class SingleServerPermitsTest extends PermitsContractTest {

    @Override
    protected RedisLocks connect() {
        return RedisLocks.connect(RedisServers.shared().uri());
    }
}
