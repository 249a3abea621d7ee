package io.github.redislocks;

import io.github.redislocks.concurrent.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Time that a test moves by hand, of the client and of the in-memory Redis at once; the server's clock can be set apart
 * from it. A parked thread wakes when its time has come, and not before.
 */
final class FakeClock implements Clock {

    private static final long MOMENT_NANOS = 1_000_000_000;
    private static final long START_MICROS = 1_790_000_000_000_000L;

    private final AtomicLong nanos = new AtomicLong(1);
    private final AtomicLong serverOffsetMicros = new AtomicLong();
    private final AtomicLong wallOffsetMicros = new AtomicLong();
    private final Map<Thread, Long> parked = new ConcurrentHashMap<>();
    private final Map<Thread, Long> parks = new ConcurrentHashMap<>();

    private final Set<Thread> woken = ConcurrentHashMap.newKeySet();

    private final AtomicInteger readings = new AtomicInteger();
    private int firstError = 1;
    private int endOfErrors = 1;
    private volatile @Nullable Thread unlucky;

    @Override
    public long nanoTime() {
        int reading = Thread.currentThread() == unlucky ? readings.incrementAndGet() : 0;
        if (reading >= firstError && reading < endOfErrors) {
            throw new InternalError("of the test, at reading " + reading + " of the clock");
        }
        return nanos.get();
    }

    /** Has some readings of the calling thread end with an error, the first being 1, until {@link #heal}. */
    void failReadings(int first, int count) {
        firstError = first;
        endOfErrors = first + count;
        readings.set(0);
        unlucky = Thread.currentThread();
    }

    /** Ends the errors; returns how often the thread has read the clock meanwhile. */
    int heal() {
        unlucky = null;
        return readings.get();
    }

    @Override
    public void park(Object blocker, long waitNanos) {
        parkUntil(blocker, waitNanos > Long.MAX_VALUE - nanoTime() ? Long.MAX_VALUE : nanoTime() + waitNanos);
    }

    /** Without a moment in which the test could move the clock unseen. */
    @Override
    public void parkUntil(Object blocker, long until) {
        Thread thread = Thread.currentThread();
        parked.put(thread, until);
        woken.remove(thread);
        parks.merge(thread, 1L, Long::sum);
        try {
            if (nanoTime() < until) {
                LockSupport.park(blocker);
            }
        } finally {
            parked.remove(thread);
        }
    }

    /** Moves time on and wakes whoever waited for it. */
    void advanceMillis(long millis) {
        nanos.addAndGet(millis * 1_000_000);
        long now = nanoTime();
        parked.forEach((thread, until) -> {
            if (until <= now) {
                woken.add(thread);
                LockSupport.unpark(thread);
            }
        });
    }

    /** Whether a thread is parked until a time that has not come. */
    boolean isParked(Thread thread) {
        return parked.getOrDefault(thread, 0L) > nanoTime();
    }

    /** Whether a thread is parked until a time that comes soon: not one that somebody else is about to wake. */
    boolean isParkedForAMoment(Thread thread) {
        return isParked(thread) && parked.getOrDefault(thread, Long.MAX_VALUE) - nanoTime() < MOMENT_NANOS;
    }

    /** The threads that time has woken, and that have neither parked again nor ended. */
    Set<Thread> woken() {
        woken.removeIf(thread -> !thread.isAlive());
        return woken;
    }

    /** When the next parked thread wants to wake, or {@link Long#MAX_VALUE}. */
    long nextWake() {
        return parked.values().stream().mapToLong(Long::longValue).min().orElse(Long.MAX_VALUE);
    }

    /** When a parked thread wants to wake; 0 if it is awake. */
    long wakeOf(Thread thread) {
        return parked.getOrDefault(thread, 0L);
    }

    /** How often a thread has parked on it. */
    long parks(Thread thread) {
        return parks.getOrDefault(thread, 0L);
    }

    /** The wall clock of this machine. */
    Instant wall() {
        return Instant.EPOCH.plus(START_MICROS + nanoTime() / 1_000 + wallOffsetMicros.get(), ChronoUnit.MICROS);
    }

    /** Sets the wall clock of this machine, which moves no other time. */
    void stepWallMillis(long millis) {
        wallOffsetMicros.addAndGet(millis * 1_000);
    }

    @Override
    public long untilNanos(Instant time) {
        return Duration.between(wall(), time).toNanos();
    }

    /** The time of the in-memory Redis, in microseconds. */
    LongSupplier server() {
        return () -> START_MICROS + nanos.get() / 1_000 + serverOffsetMicros.get();
    }

    /** Sets the server's clock apart from the client's. */
    void stepServerMillis(long millis) {
        serverOffsetMicros.addAndGet(millis * 1_000);
    }
}
