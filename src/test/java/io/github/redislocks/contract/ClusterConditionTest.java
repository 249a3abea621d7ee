package io.github.redislocks.contract;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.ClusterServers;
import org.junit.jupiter.api.Tag;

/** The contract of Conditions, for {@code reentrantLock} in a cluster. */
@Tag("server")
class ClusterConditionTest extends ConditionContractTest {

    @Override
    protected RedisLocks connect() {
        return RedisLocks.connect(ClusterServers.shared().uri());
    }

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName);
    }
}
