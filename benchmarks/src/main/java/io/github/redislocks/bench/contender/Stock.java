package io.github.redislocks.bench.contender;

import redis.clients.jedis.RedisClient;

/** A number in Redis that a lock guards, as services keep stock and balances: it is read, and written one higher. */
public final class Stock implements AutoCloseable {

    private final RedisClient redis;
    private final String key;

    /** The number beside a lock. */
    public Stock(Setting setting, String lock) {
        redis = EvalFloor.jedis(setting);
        key = lock + ":stock";
    }

    public long read() {
        String number = redis.get(key);
        return number == null ? 0 : Long.parseLong(number);
    }

    /** By two requests, between which another's is lost if the lock does not guard them. */
    public void raise() {
        redis.set(key, Long.toString(read() + 1));
    }

    @Override
    public void close() {
        redis.close();
    }
}
