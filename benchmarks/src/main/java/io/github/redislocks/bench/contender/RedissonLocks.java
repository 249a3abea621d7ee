package io.github.redislocks.bench.contender;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReadWriteLock;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's RLock and RReadWriteLock, with its watchdog, and its RPermitExpirableSemaphore. */
final class RedissonLocks implements LockClient {

    private static final long PERMIT_LEASE_SECONDS = 30;

    private final RedissonClient redisson;

    RedissonLocks(Setting setting) {
        Config config = new Config();
        config.useSingleServer().setAddress(setting.uri());
        if (setting.leaseMillis() > 0) {
            config.setLockWatchdogTimeout(setting.leaseMillis());
        }
        redisson = Redisson.create(config);
    }

    @Override
    public Mutex mutex(String key) {
        return Mutex.of(redisson.getLock(key));
    }

    @Override
    public Mutex mutex(List<String> keys) {
        return Mutex.of(
                redisson.getMultiLock(keys.stream().map(redisson::getLock).toArray(RLock[]::new)));
    }

    @Override
    public ReadWriteLock readWriteLock(String key) {
        return redisson.getReadWriteLock(key);
    }

    /** Makes a permit with a lease, since the permits of a process that dies are lost without one. */
    @Override
    public Mutex permit(String key) {
        RPermitExpirableSemaphore semaphore = redisson.getPermitExpirableSemaphore(key);
        semaphore.trySetPermits(Permit.SIZE);
        return new Permit<>(() -> semaphore.acquire(PERMIT_LEASE_SECONDS, TimeUnit.SECONDS), semaphore::release);
    }

    @Override
    public boolean holds(String key) {
        return redisson.getLock(key).isHeldByCurrentThread();
    }

    @Override
    public String library() {
        return "org.redisson.";
    }

    @Override
    public void close() {
        redisson.shutdown();
    }
}
