package io.github.redislocks.contract;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.SentinelServers;
import org.junit.jupiter.api.Tag;

/** The contract of permits, on a master that Sentinels watch over. */
@Tag("server")
class SentinelPermitsTest extends PermitsContractTest {

    @Override
    protected RedisLocks connect() {
        return RedisLocks.connect(SentinelServers.shared().uri());
    }
}
