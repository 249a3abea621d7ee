package io.github.redislocks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The event of {@link LockListener#expiring}: a hold will soon reach its {@link RedisLocksBuilder#maxHold maxHold}, and
 * will be lost then.
 *
 * <pre>{@code
 * public void expiring(LockExpiring event) {
 *     alarms.add(event.owner() + " has " + event.endsIn() + " left with " + event.lockName());
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LockExpiring extends LockEvent {

    private final String lockName;
    private final long token;
    private final String owner;
    private final Duration endsIn;

    private LockExpiring(String lockName, long token, String owner, Duration endsIn) {
        this.lockName = Objects.requireNonNull(lockName, "lockName");
        this.token = token;
        this.owner = Objects.requireNonNull(owner, "owner");
        this.endsIn = Objects.requireNonNull(endsIn, "endsIn");
    }

    /** Makes an event, for tests of listeners. */
    public static LockExpiring of(String lockName, long token, String owner, Duration endsIn) {
        return new LockExpiring(lockName, token, owner, endsIn);
    }

    /** The name of the lock. */
    public String lockName() {
        return lockName;
    }

    /** The fencing token of the hold. */
    public long token() {
        return token;
    }

    /** The holder, as in {@link LockLost#owner()}. */
    public String owner() {
        return owner;
    }

    /** The time from this event until the hold is lost, usually a third of the maxHold. */
    public Duration endsIn() {
        return endsIn;
    }

    @Override
    List<Map.Entry<String, Object>> values() {
        return List.of(
                Map.entry("lockName", lockName),
                Map.entry("token", token),
                Map.entry("owner", owner),
                Map.entry("endsIn", endsIn));
    }
}
