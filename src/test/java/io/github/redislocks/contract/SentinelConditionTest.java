package io.github.redislocks.contract;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.SentinelServers;
import org.junit.jupiter.api.Tag;

/** The contract of Conditions, for {@code reentrantLock} on a master that Sentinels watch over. */
@Tag("server")
class SentinelConditionTest extends ConditionContractTest {

    @Override
    protected RedisLocks connect() {
        return RedisLocks.connect(SentinelServers.shared().uri());
    }

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName);
    }
}
