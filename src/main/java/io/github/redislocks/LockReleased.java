package io.github.redislocks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The event of {@link LockListener#released}: a thread or a handle has released a lock.
 *
 * <pre>{@code
 * public void released(LockReleased event) {
 *     holdTimes.record(event.held());
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LockReleased extends LockEvent {

    private final String lockName;
    private final long token;
    private final Duration held;
    private final Duration keptFor;
    private final Mode mode;
    private final String ownerId;

    private LockReleased(String lockName, long token, Duration held, Duration keptFor, Mode mode, String ownerId) {
        this.lockName = Objects.requireNonNull(lockName, "lockName");
        this.token = token;
        this.held = Objects.requireNonNull(held, "held");
        this.keptFor = Objects.requireNonNull(keptFor, "keptFor");
        this.mode = Objects.requireNonNull(mode, "mode");
        this.ownerId = Objects.requireNonNull(ownerId, "ownerId");
    }

    /** Makes an event of a lock that is free after the release, for tests of listeners. */
    public static LockReleased of(String lockName, long token, Duration held) {
        return of(lockName, token, held, Duration.ZERO);
    }

    /** Makes an event, for tests of listeners. */
    public static LockReleased of(String lockName, long token, Duration held, Duration keptFor) {
        return new LockReleased(lockName, token, held, keptFor, Mode.WRITE, "");
    }

    /** Makes the same event of another mode, for tests of listeners. Without this call the mode is WRITE. */
    public LockReleased withMode(Mode other) {
        return other == mode ? this : new LockReleased(lockName, token, held, keptFor, other, ownerId);
    }

    /** Makes the same event of another owner, for tests of listeners. */
    public LockReleased withOwnerId(String other) {
        return new LockReleased(lockName, token, held, keptFor, mode, other);
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

    /** How long the thread or handle held the lock. */
    public Duration held() {
        return held;
    }

    /** How much longer the lock is unavailable, after a {@link LockHandle#releaseAfter}; zero if the lock is free. */
    public Duration keptFor() {
        return keptFor;
    }

    @Override
    List<Map.Entry<String, Object>> values() {
        return List.of(
                Map.entry("lockName", lockName),
                Map.entry("mode", mode),
                Map.entry("token", token),
                Map.entry("held", held),
                Map.entry("keptFor", keptFor));
    }
}
