package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The contract, for the fair lock on the in-memory twin. */
class TwinFairLockTest extends TwinLockTest {

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.fairLock(lockName);
    }

    @Test
    void isFair_saysHowTheLockWasMade() {
        try (RedisLocks locks = connect()) {
            assertThat(lock(locks, "job").isFair()).isTrue();
            assertThat(locks.reentrantLock("job").isFair()).isFalse();
        }
    }
}
