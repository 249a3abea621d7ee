package io.github.redislocks;

import io.github.redislocks.concurrent.Clock;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * A clock that stands still until an actor moves it. A thread that parks with a time limit spins; a thread that parks
 * without a time limit has to be unparked.
 */
final class HandClock implements Clock {

    private final AtomicLong nanos = new AtomicLong(1);

    @Override
    public long nanoTime() {
        return nanos.get();
    }

    @Override
    public void park(Object blocker, long waitNanos) {
        if (waitNanos == Long.MAX_VALUE) {
            LockSupport.park(blocker);
        } else {
            Thread.yield();
        }
    }

    /** Yields once. The actor that moves the clock may have ended, so the caller has to check its condition again. */
    @Override
    public void pause(Object blocker, long nanos) {
        Thread.yield();
    }

    void advance(long by) {
        nanos.addAndGet(by);
    }

    void advanceTo(long time) {
        nanos.accumulateAndGet(time, Math::max);
    }
}
