package io.github.redislocks;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The gap between a read and a write in code that is broken on purpose. The first thread waits in the gap for the
 * second one, for some time, so that the defect shows however the machine schedules the threads.
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
