package io.github.redislocks;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.contract.ConditionContractTest;
import io.github.redislocks.fixture.twin.InMemoryRedis;
import io.github.redislocks.state.Settings;
import java.util.List;
import org.junit.jupiter.api.AfterEach;

/** The contract of Conditions, on the in-memory twin. */
class TwinConditionTest extends ConditionContractTest {

    private final InMemoryRedis redis = new InMemoryRedis();

    @Override
    protected RedisLocks connect() {
        return RedisLocks.on(redis.another(), Settings.DEFAULTS, List.of(), Clock.SYSTEM);
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
