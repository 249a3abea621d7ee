package io.github.redislocks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The event of {@link LockListener#acquired}: a thread or a handle has acquired a lock.
 *
 * <pre>{@code
 * public void acquired(LockAcquired event) {
 *     waits.record(event.waited());
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LockAcquired extends LockEvent {

    private final String lockName;
    private final long token;
    private final Duration waited;
    private final boolean previousHolderLost;
    private final boolean local;
    private final Mode mode;
    private final String ownerId;

    private LockAcquired(
            String lockName,
            long token,
            Duration waited,
            boolean previousHolderLost,
            boolean local,
            Mode mode,
            String ownerId) {
        this.lockName = Objects.requireNonNull(lockName, "lockName");
        this.token = token;
        this.waited = Objects.requireNonNull(waited, "waited");
        this.previousHolderLost = previousHolderLost;
        this.local = local;
        this.mode = Objects.requireNonNull(mode, "mode");
        this.ownerId = Objects.requireNonNull(ownerId, "ownerId");
    }

    /** Makes the event of an acquisition that needed a request to Redis, for tests of listeners. */
    public static LockAcquired of(String lockName, long token, Duration waited, boolean previousHolderLost) {
        return of(lockName, token, waited, previousHolderLost, false);
    }

    /** Makes an event, for tests of listeners. */
    public static LockAcquired of(
            String lockName, long token, Duration waited, boolean previousHolderLost, boolean local) {
        return new LockAcquired(lockName, token, waited, previousHolderLost, local, Mode.WRITE, "");
    }

    /** Makes the same event of another mode, for tests of listeners. Without this call the mode is WRITE. */
    public LockAcquired withMode(Mode other) {
        return other == mode
                ? this
                : new LockAcquired(lockName, token, waited, previousHolderLost, local, other, ownerId);
    }

    /** Makes the same event of another owner, for tests of listeners. */
    public LockAcquired withOwnerId(String other) {
        return new LockAcquired(lockName, token, waited, previousHolderLost, local, mode, other);
    }

    /** The name of the lock. */
    public String lockName() {
        return lockName;
    }

    /** Whether the event concerns a lock, a read lock or permits. */
    public Mode mode() {
        return mode;
    }

    /**
     * The owner of the hold in Redis and in {@link Locks#inspect}, such as {@code host:pid:random:7} for a thread;
     * empty if the event was made without it. The holds of readers have the same token, but different owners. Two
     * events that differ in the owner alone are equal.
     */
    public String ownerId() {
        return ownerId;
    }

    /** The fencing token of the hold; of a read lock, the token of the last writer. */
    public long token() {
        return token;
    }

    /** How long the acquisition took, including its requests to Redis. */
    public Duration waited() {
        return waited;
    }

    /** Whether the previous holder did not release the lock: see {@link FencedLock#previousHolderLost()}. */
    public boolean previousHolderLost() {
        return previousHolderLost;
    }

    /**
     * Whether the thread acquired the lock without a request to Redis, because its client keeps the lock: see
     * {@link RedisLocksBuilder#residency}. The thread may still have waited for another thread of the client.
     */
    public boolean isLocal() {
        return local;
    }

    @Override
    List<Map.Entry<String, Object>> values() {
        return List.of(
                Map.entry("lockName", lockName),
                Map.entry("mode", mode),
                Map.entry("token", token),
                Map.entry("waited", waited),
                Map.entry("previousHolderLost", previousHolderLost),
                Map.entry("local", local));
    }
}
