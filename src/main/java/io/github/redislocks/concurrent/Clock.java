package io.github.redislocks.concurrent;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Monotonic time of this JVM, and the only way to wait for it. Tests move it by hand. */
public interface Clock {

    Clock SYSTEM = new Clock() {
        private final long origin = System.nanoTime() - 1;

        @Override
        public long nanoTime() {
            return System.nanoTime() - origin;
        }

        @Override
        public void park(Object blocker, long nanos) {
            if (nanos == Long.MAX_VALUE) {
                LockSupport.park(blocker);
            } else {
                LockSupport.parkNanos(blocker, nanos);
            }
        }
    };

    /** Nanoseconds since an origin that lies before every call: always above zero. */
    long nanoTime();

    /** Waits until a time of this clock, an interrupt, or an unpark; for {@link Long#MAX_VALUE} without end. */
    default void parkUntil(Object blocker, long nanos) {
        long wait = nanos == Long.MAX_VALUE ? nanos : nanos - nanoTime();
        if (wait > 0) {
            park(blocker, wait);
        }
    }

    /** Waits for a time or an interrupt, whatever else wakes the calling thread meanwhile. */
    default void pause(Object blocker, long nanos) {
        long until = nanoTime() + nanos;
        while (nanoTime() < until && !Thread.currentThread().isInterrupted()) {
            parkUntil(blocker, until);
        }
    }

    /**
     * How long it is until a time of this machine's wall clock, which only {@code awaitUntil} asks for; at most and at
     * least what a long holds.
     */
    default long untilNanos(Instant time) {
        return TimeUnit.NANOSECONDS.convert(
                Duration.between(InstantSource.system().instant(), time));
    }

    /**
     * Parks the calling thread as {@link LockSupport#parkNanos(Object, long)} does; with {@link Long#MAX_VALUE} without
     * a time, so that it is seen to be WAITING.
     */
    void park(Object blocker, long nanos);
}
