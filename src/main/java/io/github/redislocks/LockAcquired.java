package io.github.redislocks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The event that a thread has acquired a lock: {@link LockListener#acquired}.
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

    private LockAcquired(String lockName, long token, Duration waited, boolean previousHolderLost, boolean local) {
        this.lockName = Objects.requireNonNull(lockName, "lockName");
        this.token = token;
        this.waited = Objects.requireNonNull(waited, "waited");
        this.previousHolderLost = previousHolderLost;
        this.local = local;
    }

    /** An event as the library reports it; for tests of listeners. */
    public static LockAcquired of(String lockName, long token, Duration waited, boolean previousHolderLost) {
        return of(lockName, token, waited, previousHolderLost, false);
    }

    /** As above, of an acquisition that may have needed no request. */
    public static LockAcquired of(
            String lockName, long token, Duration waited, boolean previousHolderLost, boolean local) {
        return new LockAcquired(lockName, token, waited, previousHolderLost, local);
    }

    /** The name of the lock. */
    public String lockName() {
        return lockName;
    }

    /** The fencing token of the hold. */
    public long token() {
        return token;
    }

    /** How long the thread waited, its requests included. */
    public Duration waited() {
        return waited;
    }

    /** Whether the previous holder never released the lock, as {@link FencedLock#previousHolderLost()} says. */
    public boolean previousHolderLost() {
        return previousHolderLost;
    }

    /**
     * Whether the thread got the lock without a request to Redis, since its client kept the lock: see
     * {@link RedisLocks.Builder#residency}. It may have waited for another thread of the client all the same.
     */
    public boolean isLocal() {
        return local;
    }

    @Override
    List<Map.Entry<String, Object>> values() {
        return List.of(
                Map.entry("lockName", lockName),
                Map.entry("token", token),
                Map.entry("waited", waited),
                Map.entry("previousHolderLost", previousHolderLost),
                Map.entry("local", local));
    }
}
