package io.github.redislocks.contract;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.testkit.InMemoryLocks;
import org.junit.jupiter.api.AfterEach;

/** The contract of Conditions, on the test kit. */
class InMemoryConditionTest extends ConditionContractTest {

    private final InMemoryLocks memory = InMemoryLocks.start();

    @Override
    protected RedisLocks connect() {
        return memory.newClient();
    }

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName);
    }

    @AfterEach
    void closeServer() {
        memory.close();
    }
}
