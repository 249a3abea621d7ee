package io.github.redislocks.bench.contender;

import java.util.List;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's RLock, with its watchdog. */
final class RedissonLocks implements LockClient {

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
