package io.github.redislocks.bench.contender;

import redis.clients.jedis.RedisClient;

/**
 * The hand-off floor: a token in a list, the cheapest way in which Redis passes something from one client to the next.
 */
final class HandoffFloor implements LockClient {

    private static final String TOKEN = "token";

    private final RedisClient redis;

    HandoffFloor(Setting setting) {
        redis = EvalFloor.jedis(setting);
    }

    @Override
    public void seed(String key) {
        redis.del(key);
        redis.rpush(key, TOKEN);
    }

    @Override
    public Mutex mutex(String key) {
        return new Mutex() {
            @Override
            public void lock() {
                redis.blpop(0, key);
            }

            @Override
            public void unlock() {
                redis.rpush(key, TOKEN);
            }
        };
    }

    @Override
    public void close() {
        redis.close();
    }
}
