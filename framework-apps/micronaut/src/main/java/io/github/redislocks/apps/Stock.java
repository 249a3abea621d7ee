package io.github.redislocks.apps;

import jakarta.inject.Singleton;

/** Counts what is sold, and is guarded by nothing but the lock of those who sell. */
@Singleton
class Stock {

    private int sold;

    int sell() {
        int before = sold;
        Thread.yield(); // another that sells at the same time would be forgotten
        sold = before + 1;
        return sold;
    }

    int sold() {
        return sold;
    }
}
