package io.github.redislocks.contract;

import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServers;
import org.junit.jupiter.api.Tag;

/** The contract, for the fair lock on one server. */
@Tag("server")
class SingleServerFairLockTest extends LockContractTest {

    @Override
    protected RedisLocks connect() {
        return RedisLocks.connect(RedisServers.shared().uri());
    }

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName, LockOptions.defaults().fair(true));
    }
}
