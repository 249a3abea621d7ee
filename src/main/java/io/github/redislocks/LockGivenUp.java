package io.github.redislocks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The event of {@link LockListener#givenUp}: a client has released a lock that it kept for its threads by its
 * {@link RedisLocksBuilder#residency residency}.
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
     * Why a client has given up a lock. If several reasons apply, the event has the first of them in this order.
     *
     * @since 0.1.0
     */
    public enum Reason {
        /** Another client has asked for the lock. */
        RECALLED,
        /**
         * Other clients may have been waiting when this client acquired the lock, so this client kept the lock only for
         * a moment.
         */
        CONTENDED,
        /** The client was closed. */
        CLOSED,
        /** The client had no subscription, so no other client could have asked for the lock. */
        NOT_LISTENING,
        /**
         * A call of this client needed its own hold in Redis: a call for a handle, for a fair lock, for several locks
         * at once or with a fixed lease, or a wait in a Condition.
         */
        OWN_HOLD,
        /** The client kept more than 10,000 unused locks, and this lock had been unused longer than others. */
        TOO_MANY,
        /** No thread had used the lock for the time of the residency. */
        IDLE,
        /** The client had no greater fencing token for the next thread, not even after a request to Redis. */
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

    /** Makes an event with any reason but {@link Reason#RECALLED}, for tests of listeners. */
    public static LockGivenUp of(String lockName, Reason reason, Duration lasted, long acquisitions) {
        return new LockGivenUp(lockName, reason, lasted, acquisitions, null);
    }

    /** Makes an event with the reason {@link Reason#RECALLED}, for tests of listeners. */
    public static LockGivenUp recalled(String lockName, Duration lasted, long acquisitions, Duration sinceRecall) {
        return new LockGivenUp(
                lockName, Reason.RECALLED, lasted, acquisitions, Objects.requireNonNull(sinceRecall, "sinceRecall"));
    }

    /** The name of the lock. */
    public String lockName() {
        return lockName;
    }

    /** Why the lock was given up. */
    public Reason reason() {
        return reason;
    }

    /** How long the client had the lock in Redis. This includes the time in which no thread held the lock. */
    public Duration lasted() {
        return lasted;
    }

    /**
     * How often threads of the client acquired the lock in that time, including the first acquisition, which needed a
     * request. Re-entries do not count.
     */
    public long acquisitions() {
        return acquisitions;
    }

    /**
     * The time from the moment at which another client first asked for the lock until this client had released the
     * lock; empty if the reason is not {@link Reason#RECALLED}. If a thread held the lock when the other client asked,
     * the time includes the rest of that hold. It also includes the release: it ends when Redis has answered or, if
     * Redis does not answer in time, when the release is left to the background.
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
