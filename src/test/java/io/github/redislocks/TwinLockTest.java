package io.github.redislocks;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.contract.LockContractTest;
import io.github.redislocks.fixture.twin.InMemoryRedis;
import io.github.redislocks.state.Settings;
import java.util.List;
import org.junit.jupiter.api.AfterEach;

/** The contract, for the plain lock on the in-memory twin: as fast as the core itself is. */
class TwinLockTest extends LockContractTest {

    private final InMemoryRedis redis = new InMemoryRedis();

    @Override
    protected RedisLocks connect() {
        return RedisLocks.on(redis.another(), Settings.DEFAULTS, List.of(), Clock.SYSTEM);
    }

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName);
    }

    @AfterEach
    void closeServer() {
        redis.close();
    }
}
