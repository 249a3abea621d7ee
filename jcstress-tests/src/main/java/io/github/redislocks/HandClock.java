package io.github.redislocks;

import java.util.concurrent.atomic.AtomicLong;

/** Time that stands still until an actor moves it; who parks on it spins. */
final class HandClock implements Clock {

    private final AtomicLong nanos = new AtomicLong(1);

    @Override
    public long nanoTime() {
        return nanos.get();
    }

    @Override
    public void park(Object blocker, long waitNanos) {
        Thread.yield();
    }

    void advanceTo(long time) {
        nanos.accumulateAndGet(time, Math::max);
    }
}
