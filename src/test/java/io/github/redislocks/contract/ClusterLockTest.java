package io.github.redislocks.contract;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.ClusterServers;
import org.junit.jupiter.api.Tag;

/** The contract, for the plain lock in a cluster. */
@Tag("server")
class ClusterLockTest extends LockContractTest {

    @Override
    protected RedisLocks connect() {
        return RedisLocks.connect(ClusterServers.shared().uri());
    }

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName);
    }
}
