package io.github.redislocks.apps;

import io.github.redislocks.RedisLocks;
import jakarta.inject.Singleton;

/** The bean that gets the client. */
@Singleton
class Shop {

    private final RedisLocks locks;
    private final Stock stock;

    Shop(RedisLocks locks, Stock stock) {
        this.locks = locks;
        this.stock = stock;
    }

    int sell() {
        return locks.reentrantLock("inventory:sku-42").callWithLock(() -> stock.sell());
    }
}
