package io.github.redislocks.contract;

import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;

/** The contract of Conditions, for {@code fairLock} of the test kit. */
class InMemoryFairConditionTest extends InMemoryConditionTest {

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName, LockOptions.defaults().fair(true));
    }
}
