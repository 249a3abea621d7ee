package io.github.redislocks.bench.contender;

import io.github.redislocks.redis.Script;
import java.net.URI;
import java.util.List;
import java.util.UUID;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.util.JedisURIHelper;

/**
 * The eval floor: one minimal script to lock and one to unlock, with a pool of connections. It neither waits nor
 * renews.
 */
final class EvalFloor implements LockClient {

    private static final Script LOCK = Script.load(EvalFloor.class, "floor_lock");
    private static final Script UNLOCK = Script.load(EvalFloor.class, "floor_unlock");
    private static final Script LOCK_ALL = Script.load(EvalFloor.class, "floor_lock_all");
    private static final Script UNLOCK_ALL = Script.load(EvalFloor.class, "floor_unlock_all");
    private static final String LEASE_MILLIS = "30000";
    private static final Long DONE = 1L;

    private final RedisClient redis;
    private final String lock;
    private final String unlock;
    private final String lockAll;
    private final String unlockAll;

    EvalFloor(Setting setting) {
        redis = jedis(setting);
        lock = redis.scriptLoad(LOCK.source());
        unlock = redis.scriptLoad(UNLOCK.source());
        lockAll = redis.scriptLoad(LOCK_ALL.source());
        unlockAll = redis.scriptLoad(UNLOCK_ALL.source());
    }

    /** A client of Jedis with a pool for all threads. */
    static RedisClient jedis(Setting setting) {
        ConnectionPoolConfig pool = new ConnectionPoolConfig();
        pool.setMaxTotal(setting.connections());
        pool.setMaxIdle(setting.connections());
        URI uri = URI.create(setting.uri());
        return RedisClient.builder()
                .hostAndPort(JedisURIHelper.getHostAndPort(uri))
                .clientConfig(DefaultJedisClientConfig.builder(uri).build())
                .poolConfig(pool)
                .build();
    }

    @Override
    public Mutex mutex(String key) {
        return mutex(List.of(key), lock, unlock);
    }

    @Override
    public Mutex mutex(List<String> keys) {
        return mutex(keys, lockAll, unlockAll);
    }

    private Mutex mutex(List<String> keys, String take, String give) {
        List<String> me = List.of(UUID.randomUUID().toString());
        List<String> meAndLease = List.of(me.get(0), LEASE_MILLIS);
        return new Mutex() {
            @Override
            public void lock() {
                call(take, keys, meAndLease);
            }

            @Override
            public void unlock() {
                call(give, keys, me);
            }
        };
    }

    private void call(String script, List<String> keys, List<String> arguments) {
        if (!DONE.equals(redis.evalsha(script, keys, arguments))) {
            throw new IllegalStateException("Somebody else used " + keys);
        }
    }

    @Override
    public void close() {
        redis.close();
    }
}
