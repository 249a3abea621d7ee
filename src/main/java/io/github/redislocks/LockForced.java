package io.github.redislocks;

import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The event of {@link LockListener#forced}: a thread of this client has forced a lock open.
 *
 * <pre>{@code
 * public void forced(LockForced event) {
 *     audit.add(event.by() + " forced " + event.lockName());
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LockForced extends LockEvent {

    private final String lockName;
    private final long token;
    private final String by;

    private LockForced(String lockName, long token, String by) {
        this.lockName = Objects.requireNonNull(lockName, "lockName");
        this.token = token;
        this.by = Objects.requireNonNull(by, "by");
    }

    /** Makes an event, for tests of listeners. */
    public static LockForced of(String lockName, long token, String by) {
        return new LockForced(lockName, token, by);
    }

    /** The name of the lock. */
    public String lockName() {
        return lockName;
    }

    /** The fencing token of the hold that was ended. */
    public long token() {
        return token;
    }

    /** The thread that forced the lock open, such as {@code thread main}. */
    public String by() {
        return by;
    }

    @Override
    List<Map.Entry<String, Object>> values() {
        return List.of(Map.entry("lockName", lockName), Map.entry("token", token), Map.entry("by", by));
    }
}
