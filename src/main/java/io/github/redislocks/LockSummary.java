package io.github.redislocks;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An entry of a list of locks: {@link RedisLocks#list}. For people and dashboards; the answer is history when it
 * arrives, and no ground to act on. {@link Locks#inspect} says more of one lock.
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

    /** Returns a value as the library makes it, for tests of code that looks at locks. */
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

    /** The hold; empty if the lock is free, or kept by nobody. */
    public Optional<LockInspection.Holder> holder() {
        return holder;
    }

    /** How much longer the lock stays taken by nobody, after {@link LockHandle#releaseAfter}; empty if it does not. */
    public Optional<Duration> keptFor() {
        return keptFor;
    }

    /** How many places the queue has: see {@link LockInspection#queue()}. */
    public int queueLength() {
        return queueLength;
    }

    /** How many threads wait in Conditions of the lock. */
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

    /** Returns one line. */
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
