package io.github.redislocks.apps;

import io.github.redislocks.RedisLocks;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;

/** The bean that gets the client. */
@ApplicationScoped
public class Shop {

    @Inject
    RedisLocks locks;

    @Inject
    Stock stock;

    int sell() {
        return locks.reentrantLock("inventory:sku-42").callWithLock(() -> stock.sell());
    }
}
