package io.github.redislocks.contract;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServers;

/** The contract of Conditions, for {@code reentrantLock} on one server. */
class SingleServerConditionTest extends ConditionContractTest {

    @Override
    protected RedisLocks connect() {
        return RedisLocks.connect(RedisServers.shared().uri());
    }

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName);
    }
}
