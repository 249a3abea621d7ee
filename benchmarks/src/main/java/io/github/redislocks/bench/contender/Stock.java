package io.github.redislocks.bench.contender;

import redis.clients.jedis.RedisClient;

/**
 * A number in Redis that a lock guards, like the stock of a shop: a thread reads it and writes it back increased by
 * one.
 */
public final class Stock implements AutoCloseable {

    private final RedisClient redis;
    private final String key;

    /** Makes the number that belongs to a lock. */
    public Stock(Setting setting, String lock) {
        redis = EvalFloor.jedis(setting);
        key = lock + ":stock";
    }

    public long read() {
        String number = redis.get(key);
        return number == null ? 0 : Long.parseLong(number);
    }

    /**
     * Increases the number by two requests. Without the lock, an update of another thread between the two would be
     * lost.
     */
    public void raise() {
        redis.set(key, Long.toString(read() + 1));
    }

    @Override
    public void close() {
        redis.close();
    }
}
