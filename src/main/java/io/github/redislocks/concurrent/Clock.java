package io.github.redislocks.concurrent;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The monotonic time of this JVM, and the ways to wait for a time. Tests use a clock that they move by hand. */
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

    /** Nanoseconds since an origin that lies before every call, so always positive. */
    long nanoTime();

    /**
     * Parks until {@code now + nanos}, a time that may be over already; without a time limit if {@code nanos} is
     * {@link Long#MAX_VALUE}.
     */
    default void parkFrom(long now, Object blocker, long nanos) {
        parkUntil(blocker, nanos > Long.MAX_VALUE - now ? Long.MAX_VALUE : now + nanos);
    }

    /**
     * Parks until a time of this clock, an interrupt, or an unpark; without a time limit for {@link Long#MAX_VALUE}.
     */
    default void parkUntil(Object blocker, long nanos) {
        long wait = nanos == Long.MAX_VALUE ? nanos : nanos - nanoTime();
        if (wait > 0) {
            park(blocker, wait);
        }
    }

    /** Waits for the given time or until an interrupt; unparks do not end the wait. */
    default void pause(Object blocker, long nanos) {
        long until = nanoTime() + nanos;
        while (nanoTime() < until && !Thread.currentThread().isInterrupted()) {
            parkUntil(blocker, until);
        }
    }

    /** How long to rest in order to spare the processor: the given time, or 0 where a test moves the clock. */
    default long restOf(long nanos) {
        return nanos;
    }

    /**
     * The nanoseconds until a time of this machine's wall clock, limited to the range of a long. Only
     * {@code Condition.awaitUntil} uses this method.
     */
    default long untilNanos(Instant time) {
        return TimeUnit.NANOSECONDS.convert(
                Duration.between(InstantSource.system().instant(), time));
    }

    /**
     * Parks the calling thread as {@link LockSupport#parkNanos(Object, long)} does; for {@link Long#MAX_VALUE} without
     * a timeout, so that the thread's state is WAITING.
     */
    void park(Object blocker, long nanos);
}
