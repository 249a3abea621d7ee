package io.github.redislocks;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The gap between looking and writing, in what is broken on purpose: whoever comes first waits there for the other, for
 * a while, so that the twin is caught however the machine schedules its threads.
 */
final class Gap {

    private static final int TURNS = 200;

    private final AtomicInteger inside = new AtomicInteger();

    void pass() {
        inside.incrementAndGet();
        for (int i = 0; i < TURNS && inside.get() < 2; i++) {
            Thread.yield();
        }
    }
}
