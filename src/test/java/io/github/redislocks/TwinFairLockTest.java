package io.github.redislocks;

/** The contract, for the fair lock on the in-memory twin. */
class TwinFairLockTest extends TwinLockTest {

    @Override
    protected RedisReentrantLock lock(RedisLocks locks, String lockName) {
        return locks.fairLock(lockName);
    }
}
