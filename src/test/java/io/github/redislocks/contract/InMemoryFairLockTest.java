package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import org.junit.jupiter.api.Test;

/** The contract, for the fair lock of the test kit. */
class InMemoryFairLockTest extends InMemoryLockTest {

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.reentrantLock(lockName, LockOptions.defaults().fair(true));
    }

    @Test
    void isFair_saysHowTheLockWasMade() {
        try (RedisLocks locks = connect()) {
            assertThat(lock(locks, "job").isFair()).isTrue();
            assertThat(locks.reentrantLock("job").isFair()).isFalse();
        }
    }
}
