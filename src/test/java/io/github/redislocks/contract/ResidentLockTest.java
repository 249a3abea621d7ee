package io.github.redislocks.contract;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServers;
import java.time.Duration;
import org.junit.jupiter.api.Tag;

/** The contract, for clients that keep locks, on one server. */
@Tag("server")
class ResidentLockTest extends LockContractTest {

    @Override
    protected RedisLocks connect() {
        return RedisLocks.builder()
                .uri(RedisServers.shared().uri())
                .residency(Duration.ofSeconds(5))
                .build();
    }

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName);
    }

    @Override
    protected boolean keeps() {
        return true;
    }
}
