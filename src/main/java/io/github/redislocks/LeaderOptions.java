package io.github.redislocks;

import io.github.redislocks.concurrent.Shown;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Settings of one {@link Leadership}. Immutable: each method returns a copy.
 *
 * <pre>{@code
 * LeaderOptions patient = LeaderOptions.defaults().interrupt(false).drain(Duration.ofMinutes(1));
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LeaderOptions {

    private static final Duration MAX_DRAIN = Duration.ofDays(1);
    private static final LeaderOptions DEFAULTS =
            new LeaderOptions(LockOptions.defaults(), true, Duration.ofSeconds(10));

    private final LockOptions lock;
    private final boolean interrupt;
    private final Duration drain;

    private LeaderOptions(LockOptions lock, boolean interrupt, Duration drain) {
        this.lock = lock;
        this.interrupt = interrupt;
        this.drain = drain;
    }

    /**
     * Returns the default options: the lock has the settings of the client, work that should end is interrupted, and
     * {@code close()} waits up to 10 s for the end of the work.
     */
    public static LeaderOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Sets the options of the lock. If a leader crashes, another candidate is elected after the lease. A fair lock
     * elects the candidates of all JVMs in order of arrival.
     *
     * @throws IllegalArgumentException if the options have a residency or {@code relockAfterLoss(false)}, which concern
     *     only threads
     */
    public LeaderOptions lock(LockOptions options) {
        Objects.requireNonNull(options, "options")
                .checkNotKept("a leadership", "a client keeps locks for its threads, and a leader has a handle.");
        options.checkMayRelock("a leadership");
        return new LeaderOptions(options, interrupt, drain);
    }

    /**
     * Sets whether the thread of the work is interrupted when the work should end; true by default. The thread is
     * interrupted once in a term, and never after {@link LeaderWork#lead} has returned. With {@code false}, the work
     * must ask its {@link LeaderTerm} whether it should end; otherwise it may run beside the next leader.
     */
    public LeaderOptions interrupt(boolean toStop) {
        return new LeaderOptions(lock, toStop, drain);
    }

    /**
     * Sets how long {@link Leadership#close()} waits for the work to end.
     *
     * @param time 0 to 24 h; 0 means not to wait
     * @throws IllegalArgumentException if the time is negative or longer
     */
    public LeaderOptions drain(Duration time) {
        return new LeaderOptions(lock, interrupt, checkDrain(time));
    }

    static Duration checkDrain(Duration time) {
        if (Objects.requireNonNull(time, "drain").isNegative() || time.compareTo(MAX_DRAIN) > 0) {
            throw new IllegalArgumentException("The drain is " + Shown.of(time) + ": it must lie between 0 and "
                    + Shown.of(MAX_DRAIN) + ". Use Duration.ZERO to wait for nothing.");
        }
        return time;
    }

    LockOptions lock() {
        return lock;
    }

    boolean isInterrupting() {
        return interrupt;
    }

    Duration drain() {
        return drain;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LeaderOptions that
                && lock.equals(that.lock)
                && interrupt == that.interrupt
                && drain.equals(that.drain);
    }

    @Override
    public int hashCode() {
        return Objects.hash(lock, interrupt, drain);
    }

    @Override
    public String toString() {
        return "LeaderOptions[" + lock + ", interrupt=" + interrupt + ", drain=" + Shown.of(drain) + ']';
    }
}
