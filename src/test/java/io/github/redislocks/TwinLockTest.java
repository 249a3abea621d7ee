package io.github.redislocks;

import io.github.redislocks.contract.LockContractTest;
import io.github.redislocks.fixture.twin.InMemoryRedis;
import org.junit.jupiter.api.AfterEach;

/** The contract, for the plain lock on the in-memory twin: as fast as the core itself is. */
class TwinLockTest extends LockContractTest {

    private final InMemoryRedis redis = new InMemoryRedis();

    @Override
    protected RedisLocks connect() {
        return RedisLocks.on(redis.another(), LockOptions.DEFAULTS, null, Clock.SYSTEM);
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
