package io.github.redislocks.contract;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.SentinelServers;
import org.junit.jupiter.api.Tag;

/** The contract, for the plain lock on a master that Sentinels watch over. */
@Tag("server")
class SentinelLockTest extends LockContractTest {

    @Override
    protected RedisLocks connect() {
        return RedisLocks.connect(SentinelServers.shared().uri());
    }

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName);
    }
}
