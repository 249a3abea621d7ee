package io.github.redislocks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The event of {@link LockListener#notAcquired}: a call has ended without acquiring a lock.
 *
 * <pre>{@code
 * public void notAcquired(LockNotAcquired event) {
 *     failures.count(event.lockName(), event.outcome());
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LockNotAcquired extends LockEvent {

    private final String lockName;
    private final Duration waited;
    private final Outcome outcome;

    private LockNotAcquired(String lockName, Duration waited, Outcome outcome) {
        this.lockName = Objects.requireNonNull(lockName, "lockName");
        this.waited = Objects.requireNonNull(waited, "waited");
        this.outcome = Objects.requireNonNull(outcome, "outcome");
    }

    /** Makes an event, for tests of listeners. */
    public static LockNotAcquired of(String lockName, Duration waited, Outcome outcome) {
        return new LockNotAcquired(lockName, waited, outcome);
    }

    /** The name of the lock. */
    public String lockName() {
        return lockName;
    }

    /** How long the call tried to acquire the lock. */
    public Duration waited() {
        return waited;
    }

    /** Why the lock was not acquired. */
    public Outcome outcome() {
        return outcome;
    }

    /**
     * Why a call has ended without the lock. Later versions may add outcomes, so a {@code switch} needs a default.
     *
     * @since 0.1.0
     */
    public enum Outcome {
        /** The lock was busy for the whole time that the caller allowed. */
        BUSY,
        /** The thread was interrupted. */
        INTERRUPTED,
        /** The call threw an exception, such as {@link LockUnavailableException}. */
        FAILED
    }

    @Override
    List<Map.Entry<String, Object>> values() {
        return List.of(Map.entry("lockName", lockName), Map.entry("waited", waited), Map.entry("outcome", outcome));
    }
}
