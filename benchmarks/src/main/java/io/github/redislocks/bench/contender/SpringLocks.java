package io.github.redislocks.bench.contender;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** Spring Integration's RedisLockRegistry on Lettuce, with its defaults. It renews only if the work needs that. */
final class SpringLocks implements LockClient {

    private static final long DEFAULT_LEASE_MILLIS = 60_000;
    private static final int DEFAULT_LOCKS = 100_000;
    private static final int RENEWERS = 8;

    private final LettuceConnectionFactory connections;
    private final String registryKey;
    private final RedisLockRegistry registry;
    private final ThreadPoolTaskScheduler renewers = new ThreadPoolTaskScheduler();

    SpringLocks(Setting setting, RedisLockType type) {
        connections = new LettuceConnectionFactory(LettuceConnectionFactory.createRedisConfiguration(setting.uri()));
        connections.afterPropertiesSet();
        connections.start();
        boolean renewed = setting.leaseMillis() > 0;
        registryKey = "bench-" + type;
        registry =
                new RedisLockRegistry(connections, registryKey, renewed ? setting.leaseMillis() : DEFAULT_LEASE_MILLIS);
        registry.setRedisLockType(type);
        registry.setCacheCapacity(Math.max(DEFAULT_LOCKS, 2 * setting.locks()));
        if (renewed) {
            renewers.setPoolSize(RENEWERS);
            renewers.setDaemon(true);
            renewers.afterPropertiesSet();
            registry.setRenewalTaskScheduler(renewers);
        }
    }

    @Override
    public Mutex mutex(String key) {
        return Mutex.of(registry.obtain(key));
    }

    @Override
    public String redisKey(String key) {
        return registryKey + ":" + key;
    }

    @Override
    public String library() {
        return "org.springframework.";
    }

    @Override
    public void close() {
        renewers.destroy();
        registry.destroy();
        connections.destroy();
    }
}
