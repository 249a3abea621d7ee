package io.github.redislocks.testkit;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * The clock of one in-memory Redis and its clients. The clock runs as the machine's clock does until it is stopped. A
 * test may move it forward.
 */
final class TestTime {

    private static final long RUNS = -1;

    private final Instant wallAtStart = InstantSource.system().instant();
    private final long startMicros = ChronoUnit.MICROS.between(Instant.EPOCH, wallAtStart);
    private final long origin = System.nanoTime() - 1;
    private final AtomicLong aheadNanos = new AtomicLong();
    private final AtomicLong stoppedNanos = new AtomicLong(RUNS);

    /** The time at which each parked thread wants to wake. */
    private final Map<Thread, Long> parked = new ConcurrentHashMap<>();
    /** How often each thread has parked. */
    private final Map<Thread, Long> parks = Collections.synchronizedMap(new WeakHashMap<>());

    long nanos() {
        long stopped = stoppedNanos.get();
        return stopped == RUNS ? System.nanoTime() - origin + aheadNanos.get() : stopped;
    }

    /** The time of Redis, in microseconds since 1970. */
    long micros() {
        return startMicros + nanos() / 1_000;
    }

    long untilNanos(Instant wall) {
        return Duration.between(wallAtStart, wall).toNanos() - nanos();
    }

    void stop() {
        stoppedNanos.compareAndSet(RUNS, nanos());
    }

    /**
     * Lets the clock run again from its present time. Wakes parked threads, so that they go on to wait by the running
     * clock.
     */
    void go() {
        long stopped = stoppedNanos.get();
        if (stopped != RUNS) {
            aheadNanos.set(stopped - (System.nanoTime() - origin));
            stoppedNanos.set(RUNS);
            parked.keySet().forEach(LockSupport::unpark);
        }
    }

    /**
     * Moves the clock forward to the given time, unless its time is later already, and wakes the threads whose time has
     * come. If the clock runs, also wakes all other threads with a time limit: they are parked by the machine's clock,
     * for a time that is too long now.
     */
    void moveTo(long nanos) {
        boolean runs = stoppedNanos.get() == RUNS;
        if (runs) {
            aheadNanos.addAndGet(Math.max(0, nanos - nanos()));
        } else {
            stoppedNanos.accumulateAndGet(nanos, Math::max);
        }
        long now = nanos();
        parked.forEach((thread, until) -> {
            if (until <= now || (runs && until < Long.MAX_VALUE)) {
                LockSupport.unpark(thread);
            }
        });
    }

    /**
     * Parks until the given time, an unpark or an interrupt. A move of the clock during this call also wakes the
     * thread.
     */
    void park(Object blocker, long until) {
        Thread thread = Thread.currentThread();
        parked.put(thread, until);
        parks.merge(thread, 1L, Long::sum);
        try {
            long wait = until == Long.MAX_VALUE ? until : until - nanos();
            if (wait == Long.MAX_VALUE || (wait > 0 && stoppedNanos.get() != RUNS)) {
                LockSupport.park(blocker);
            } else if (wait > 0) {
                LockSupport.parkNanos(blocker, wait);
            }
        } finally {
            parked.remove(thread);
        }
    }

    /** When a parked thread wants to wake; 0 if it is awake. */
    long wakeOf(Thread thread) {
        return parked.getOrDefault(thread, 0L);
    }

    /** How often a thread has parked. */
    long parks(Thread thread) {
        return parks.getOrDefault(thread, 0L);
    }

    /** The next time after now at which a parked thread wants to wake; {@link Long#MAX_VALUE} if there is none. */
    long nextWake() {
        long now = nanos();
        return parked.values().stream()
                .mapToLong(Long::longValue)
                .filter(until -> until > now)
                .min()
                .orElse(Long.MAX_VALUE);
    }
}
