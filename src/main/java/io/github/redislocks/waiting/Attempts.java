package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.watchdog.Watchdog;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The attempts of a client that are under way, by number: from before the first request until the call returns. */
public final class Attempts {

    private final Clock clock;
    private final FailoverEpoch epoch;
    private final Watchdog watchdog;
    private final ConcurrentMap<Long, Attempt> underWay = new ConcurrentHashMap<>();
    private final AtomicLong numbers = new AtomicLong();
    /** How many attempts to get a hold back after a wait in a Condition have begun. */
    private final AtomicLong inConditions = new AtomicLong();
    /** After how long the watchdog looks at an attempt that has begun. */
    private final long lookNanos;
    /** Whether attempts are refused, except those that get a hold back after a wait in a Condition. */
    private volatile boolean draining;

    private volatile boolean closed;

    public Attempts(Clock clock, Settings settings, FailoverEpoch epoch, Watchdog watchdog) {
        this.clock = clock;
        long slow = settings.slowWaitNanos();
        this.lookNanos = slow > 0 ? Math.min(slow, settings.renewalNanos()) : settings.renewalNanos();
        this.epoch = epoch;
        this.watchdog = watchdog;
    }

    /** Makes an attempt of an owner; {@link #begin} begins it. */
    public Attempt make(LockKeys keys, Owner owner, Attempt.Request request, WaitLimit limit) {
        return new Attempt(nextNumber(), keys, owner, request, limit);
    }

    /** Begins an attempt. If this throws an error, the attempt may have begun nevertheless. */
    public void begin(Attempt attempt) {
        attempt.begins(clock.nanoTime(), epoch.count());
        underWay.put(attempt.number, attempt);
        if (attempt.isFromCondition()) {
            inConditions.incrementAndGet();
        }
        // Have the watchdog look at the attempt in time, even if an error ends this call.
        watchdog.wakeAt(attempt.beganNanos() + lookNanos);
        if (isRefused(attempt)) {
            end(attempt);
            throw closedException();
        }
    }

    private boolean isRefused(Attempt attempt) {
        return closed || (draining && !attempt.isFromCondition());
    }

    public long nextNumber() {
        return numbers.incrementAndGet();
    }

    public void end(Attempt attempt) {
        underWay.remove(attempt.number, attempt);
    }

    /** Whether the attempt has begun and not ended. */
    public boolean isUnderWay(Attempt attempt) {
        return underWay.containsKey(attempt.number);
    }

    /** For tests that move the clock. The attempt's thread is parked until {@code parkedUntil}; 0 if it is not. */
    public boolean isAwake(Attempt attempt, long parkedUntil) {
        // A verdict wakes the thread, so a thread with a verdict does not wait.
        boolean waits = attempt.undecided() && parkedUntil > clock.nanoTime();
        return !waits && isUnderWay(attempt);
    }

    public long begunInConditions() {
        return inConditions.get();
    }

    /** Whether the call has returned or is about to, with or without the lock. */
    public boolean hasEnded(Attempt attempt) {
        return attempt.hasFailed() || !isUnderWay(attempt);
    }

    /** The attempt with a number, or null if it is not under way. */
    @Nullable
    public Attempt get(long number) {
        return underWay.get(number);
    }

    public boolean isEmpty() {
        return underWay.isEmpty();
    }

    public int count() {
        return underWay.size();
    }

    public Collection<Attempt> all() {
        return underWay.values();
    }

    /** Has the watchdog send a heartbeat for every waiter at once. */
    public void hurry() {
        hurry(attempt -> true);
    }

    /** As {@link #hurry()}, for shares only: they take places even while no message reaches this client. */
    public void hurryShares() {
        hurry(attempt -> attempt.owner.isShared());
    }

    private void hurry(Predicate<Attempt> which) {
        for (Attempt attempt : underWay.values()) {
            if (which.test(attempt)) {
                attempt.doubted();
            }
        }
        watchdog.wakeAt(0);
    }

    /** Has the watchdog send a heartbeat for a waiter at once. */
    public void hurry(Attempt attempt) {
        attempt.doubted();
        watchdog.wakeAt(0);
    }

    /**
     * Makes an attempt fail if the client is closed. Call this for an attempt that continues after a grant was taken
     * back: while it had a verdict, {@link #close} could not end it.
     */
    public void failIfClosed(Attempt attempt) {
        if (isRefused(attempt)) {
            attempt.decide(new Attempt.Failure(closedException()));
        }
    }

    public void checkOpen() {
        if (closed) {
            throw closedException();
        }
    }

    public boolean isClosed() {
        return closed;
    }

    /** As {@link #close}, except for attempts that get a hold back after a wait in a Condition. */
    public void drain() {
        draining = true;
        underWay.values().forEach(this::failIfClosed);
    }

    /** Refuses new attempts and fails all that are under way. */
    public void close() {
        closed = true;
        underWay.values().forEach(this::failIfClosed);
    }

    public static IllegalStateException closedException() {
        return new IllegalStateException("This RedisLocks is closed: make a new one, or close it after its last use.");
    }
}
