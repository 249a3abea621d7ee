package io.github.redislocks.contract;

import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServers;
import org.junit.jupiter.api.Tag;

/** The contract of Conditions, for {@code fairLock} on one server. */
@Tag("server")
class SingleServerFairConditionTest extends ConditionContractTest {

    @Override
    protected RedisLocks connect() {
        return RedisLocks.connect(RedisServers.shared().uri());
    }

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName, LockOptions.defaults().fair(true));
    }
}
