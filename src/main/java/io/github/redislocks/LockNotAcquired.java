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
    private final Mode mode;

    private LockNotAcquired(String lockName, Duration waited, Outcome outcome, Mode mode) {
        this.lockName = Objects.requireNonNull(lockName, "lockName");
        this.waited = Objects.requireNonNull(waited, "waited");
        this.outcome = Objects.requireNonNull(outcome, "outcome");
        this.mode = Objects.requireNonNull(mode, "mode");
    }

    /** Makes an event, for tests of listeners. */
    public static LockNotAcquired of(String lockName, Duration waited, Outcome outcome) {
        return new LockNotAcquired(lockName, waited, outcome, Mode.WRITE);
    }

    /** Makes the same event of another mode, for tests of listeners. Without this call the mode is WRITE. */
    public LockNotAcquired withMode(Mode other) {
        return other == mode ? this : new LockNotAcquired(lockName, waited, outcome, other);
    }

    /** The name of the lock. */
    public String lockName() {
        return lockName;
    }

    /** Whether the event concerns a lock, a read lock or permits. */
    public Mode mode() {
        return mode;
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
        return List.of(
                Map.entry("lockName", lockName),
                Map.entry("mode", mode),
                Map.entry("waited", waited),
                Map.entry("outcome", outcome));
    }
}
