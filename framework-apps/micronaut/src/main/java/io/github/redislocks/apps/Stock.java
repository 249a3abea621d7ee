package io.github.redislocks.apps;

import jakarta.inject.Singleton;

/** Counts the sold items. Only the lock of the sellers guards the count. */
@Singleton
class Stock {

    private int sold;

    int sell() {
        int before = sold;
        Thread.yield(); // without the lock, a sale at the same time would be lost
        sold = before + 1;
        return sold;
    }

    int sold() {
        return sold;
    }
}
