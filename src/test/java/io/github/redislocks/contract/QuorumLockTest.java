package io.github.redislocks.contract;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.QuorumServers;
import java.time.Duration;
import org.junit.jupiter.api.Tag;

/** The contract, for the lock of a quorum of five. */
@Tag("server")
class QuorumLockTest extends LockContractTest {

    @Override
    protected RedisLocks connect() {
        return RedisLocks.builder()
                .quorum(QuorumServers.shared().uris())
                .restartDelay(Duration.ZERO)
                .build();
    }

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName);
    }
}
