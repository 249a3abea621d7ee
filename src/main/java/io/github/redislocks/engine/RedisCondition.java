package io.github.redislocks.engine;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.state.WaitLimit;
import java.time.Instant;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/**
 * A Condition of a lock in Redis: {@code signal} in one JVM wakes {@code await} in another. All objects with the same
 * lock and id are one Condition.
 */
public final class RedisCondition implements Condition {

    private final Conditions conditions;
    private final Clock clock;
    private final Sync sync;
    private final String id;

    public RedisCondition(Conditions conditions, Clock clock, Sync sync, String id) {
        this.conditions = conditions;
        this.clock = clock;
        this.sync = sync;
        this.id = id;
    }

    public String id() {
        return id;
    }

    /** Whether this is a Condition of the given lock. */
    public boolean isOf(Sync other) {
        return sync.isSameAs(other);
    }

    @Override
    public void await() throws InterruptedException {
        waitWith(WaitLimit.interruptible(sync.retryForNanos()), null);
    }

    @Override
    public void awaitUninterruptibly() {
        try {
            waitWith(WaitLimit.endless(sync.retryForNanos()), null);
        } catch (InterruptedException e) {
            throw new AssertionError("awaitUninterruptibly() does not end by an interrupt", e);
        }
    }

    @Override
    public long awaitNanos(long nanos) throws InterruptedException {
        long now = clock.nanoTime();
        waitWith(WaitLimit.within(now, nanos, sync.retryForNanos()), null);
        long left = nanos - (clock.nanoTime() - now);
        // If the subtraction has overflowed, the result is Long.MIN_VALUE.
        return left <= nanos ? left : Long.MIN_VALUE;
    }

    @Override
    public boolean await(long time, TimeUnit unit) throws InterruptedException {
        return waitWith(WaitLimit.within(clock.nanoTime(), unit.toNanos(time), sync.retryForNanos()), null);
    }

    /** Waits until a time of this machine's wall clock, as the Conditions of the JDK do. */
    @Override
    @SuppressWarnings("JavaUtilDate") // Condition.awaitUntil takes a Date.
    public boolean awaitUntil(Date deadline) throws InterruptedException {
        // Use the milliseconds, since the dates of java.sql do not support toInstant().
        return waitWith(WaitLimit.interruptible(sync.retryForNanos()), Instant.ofEpochMilli(deadline.getTime()));
    }

    private boolean waitWith(WaitLimit limit, @Nullable Instant until) throws InterruptedException {
        try {
            // As in the JDK, an interrupt comes first: InterruptedException, not IllegalMonitorStateException, if both
            // apply.
            limit.throwIfInterrupted();
            return sync.await(conditions, id, limit, until);
        } finally {
            limit.restore();
        }
    }

    @Override
    public void signal() {
        signal(false);
    }

    @Override
    public void signalAll() {
        signal(true);
    }

    private void signal(boolean all) {
        WaitLimit limit = WaitLimit.endless(sync.retryForNanos());
        try {
            sync.signal(conditions, id, all, limit);
        } finally {
            limit.restore();
        }
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RedisCondition condition && condition.isOf(sync) && condition.id.equals(id);
    }

    @Override
    public int hashCode() {
        return id.hashCode();
    }

    @Override
    public String toString() {
        return Shown.of(
                "RedisCondition " + id.substring(1) + " of " + sync.keys().name());
    }
}
