package io.github.redislocks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The event that a client has given up a lock that it kept for its threads, by its {@link RedisLocks.Builder#residency
 * residency}: {@link LockListener#givenUp}.
 *
 * <pre>{@code
 * public void givenUp(LockGivenUp event) {
 *     event.sinceRecall().ifPresent(recalls::record);
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LockGivenUp extends LockEvent {

    /**
     * Why a client has given up a lock. If several apply, it is the first of them in this order.
     *
     * @since 0.1.0
     */
    public enum Reason {
        /** Another client wanted it, and has said so. */
        RECALLED,
        /** Others may have waited for it when the client got it, so the client kept it for a moment only. */
        CONTENDED,
        /** The client was closed. */
        CLOSED,
        /** The client had no subscription, so nobody could have recalled it. */
        NOT_LISTENING,
        /**
         * A thread or a handle of the client needed a hold of its own in Redis: for a lease that the call named, for a
         * handle, for a fair lock, for several locks at once, or to wait in a Condition.
         */
        OWN_HOLD,
        /** The client kept more locks that no thread held than it may, and this one was not used for longest. */
        TOO_MANY,
        /** No thread had used it for the time of the residency. */
        IDLE,
        /** A thread wanted it, and the client could not give it a fencing token, also after it had asked Redis. */
        NO_TOKEN
    }

    private final String lockName;
    private final Reason reason;
    private final Duration lasted;
    private final long acquisitions;
    private final @Nullable Duration sinceRecall;

    private LockGivenUp(
            String lockName, Reason reason, Duration lasted, long acquisitions, @Nullable Duration sinceRecall) {
        this.lockName = Objects.requireNonNull(lockName, "lockName");
        this.reason = Objects.requireNonNull(reason, "reason");
        this.lasted = Objects.requireNonNull(lasted, "lasted");
        this.acquisitions = acquisitions;
        this.sinceRecall = sinceRecall;
    }

    /** An event of a lock that was not recalled, as the library reports it; for tests of listeners. */
    public static LockGivenUp of(String lockName, Reason reason, Duration lasted, long acquisitions) {
        return new LockGivenUp(lockName, reason, lasted, acquisitions, null);
    }

    /** An event of a lock that was recalled, as the library reports it; for tests of listeners. */
    public static LockGivenUp recalled(String lockName, Duration lasted, long acquisitions, Duration sinceRecall) {
        return new LockGivenUp(
                lockName, Reason.RECALLED, lasted, acquisitions, Objects.requireNonNull(sinceRecall, "sinceRecall"));
    }

    /** The name of the lock. */
    public String lockName() {
        return lockName;
    }

    /** Why it was given up. */
    public Reason reason() {
        return reason;
    }

    /** How long the client had the lock, whether a thread of it held the lock or none did. */
    public Duration lasted() {
        return lasted;
    }

    /**
     * How often threads of the client acquired the lock in that time, the first acquisition included, for which the
     * client got the lock; without re-entries.
     */
    public long acquisitions() {
        return acquisitions;
    }

    /**
     * How long it took from the first recall that the client received until it gave the lock up; empty if the reason is
     * another one. A thread that held the lock had that time to finish, and the release is included: until it was
     * answered, or was left to the background since Redis did not answer.
     */
    public Optional<Duration> sinceRecall() {
        return Optional.ofNullable(sinceRecall);
    }

    @Override
    List<Map.Entry<String, Object>> values() {
        return List.of(
                Map.entry("lockName", lockName),
                Map.entry("reason", reason),
                Map.entry("lasted", lasted),
                Map.entry("acquisitions", acquisitions),
                Map.entry("sinceRecall", sinceRecall == null ? "none" : sinceRecall));
    }
}
