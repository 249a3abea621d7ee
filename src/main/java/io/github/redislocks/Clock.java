package io.github.redislocks;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.locks.LockSupport;

/** Monotonic time of this JVM, and the only way to wait for it. Tests move it by hand. */
interface Clock {

    Clock SYSTEM = new Clock() {
        private final long origin = System.nanoTime() - 1;

        @Override
        public long nanoTime() {
            return System.nanoTime() - origin;
        }

        @Override
        public void park(Object blocker, long nanos) {
            LockSupport.parkNanos(blocker, nanos);
        }
    };

    /** Nanoseconds since an origin that lies before every call: always above zero. */
    long nanoTime();

    /** How long it is until a time of this machine's wall clock, which only {@code awaitUntil} asks for. */
    default long untilNanos(Instant time) {
        return Duration.between(InstantSource.system().instant(), time).toNanos();
    }

    /** Parks the calling thread as {@link LockSupport#parkNanos(Object, long)} does. */
    void park(Object blocker, long nanos);
}
