package io.github.redislocks;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The state of one lock in a list of locks: {@link RedisLocks#list}. A summary is meant for people and dashboards. Code
 * must not decide by it, since it may be out of date when it arrives. {@link Locks#inspect} shows more of one lock.
 *
 * @since 0.1.0
 */
public final class LockSummary {

    private final String lockName;
    private final Optional<LockInspection.Holder> holder;
    private final Optional<Duration> keptFor;
    private final int queueLength;
    private final int conditionLength;

    private LockSummary(
            String lockName,
            Optional<LockInspection.Holder> holder,
            Optional<Duration> keptFor,
            int queueLength,
            int conditionLength) {
        this.lockName = Objects.requireNonNull(lockName, "lockName");
        this.holder = Objects.requireNonNull(holder, "holder");
        this.keptFor = Objects.requireNonNull(keptFor, "keptFor");
        this.queueLength = queueLength;
        this.conditionLength = conditionLength;
    }

    /** Makes a summary, for tests of code that lists locks. */
    public static LockSummary of(
            String lockName,
            Optional<LockInspection.Holder> holder,
            Optional<Duration> keptFor,
            int queueLength,
            int conditionLength) {
        return new LockSummary(lockName, holder, keptFor, queueLength, conditionLength);
    }

    /** The name of the lock. */
    public String lockName() {
        return lockName;
    }

    /** The hold; empty if the lock is free, or unavailable without a holder ({@link #keptFor}). */
    public Optional<LockInspection.Holder> holder() {
        return holder;
    }

    /**
     * How much longer the lock is unavailable without a holder, after a {@link LockHandle#releaseAfter}; empty if the
     * lock is held or free.
     */
    public Optional<Duration> keptFor() {
        return keptFor;
    }

    /** The length of the queue, in entries as {@link LockInspection#queue()} shows them. */
    public int queueLength() {
        return queueLength;
    }

    /** The number of threads that wait in Conditions of the lock. */
    public int conditionLength() {
        return conditionLength;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LockSummary that
                && lockName.equals(that.lockName)
                && holder.equals(that.holder)
                && keptFor.equals(that.keptFor)
                && queueLength == that.queueLength
                && conditionLength == that.conditionLength;
    }

    @Override
    public int hashCode() {
        return Objects.hash(lockName, holder, keptFor, queueLength, conditionLength);
    }

    /** Describes the hold and the waiters in one line. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(LockInspection.state(lockName, holder, keptFor));
        if (queueLength > 0) {
            text.append("; ").append(queueLength).append(" in the queue");
        }
        if (conditionLength > 0) {
            text.append("; ").append(conditionLength).append(" in Conditions");
        }
        return text.toString();
    }
}
