package io.github.redislocks;

import java.io.Serial;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A hold that ended without its owner's unlock.
 *
 * <pre>{@code
 * RedisLocks locks = RedisLocks.builder()
 *         .onLockLost(loss -> alarms.add(loss.lockName() + " was lost: " + loss.reason()))
 *         .build();
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LockLost extends LockEvent implements Serializable {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String lockName;
    private final long token;
    private final String owner;
    private final Reason reason;

    private LockLost(String lockName, long token, String owner, Reason reason) {
        this.lockName = Objects.requireNonNull(lockName, "lockName");
        this.token = token;
        this.owner = Objects.requireNonNull(owner, "owner");
        this.reason = Objects.requireNonNull(reason, "reason");
    }

    /** A loss, as the library reports it; for tests of code that hears of losses. */
    public static LockLost of(String lockName, long token, String owner, Reason reason) {
        return new LockLost(lockName, token, owner, reason);
    }

    /** The name of the lock. */
    public String lockName() {
        return lockName;
    }

    /** The fencing token of the hold that was lost. */
    public long token() {
        return token;
    }

    /**
     * The owner of the hold: {@code thread} and the thread's name, as it was when the loss was seen; {@code handle} and
     * the number by which {@link LockHandle#owner()} ends; or that a thread has unlocked since: see
     * {@link LockListener#lost}.
     */
    public String owner() {
        return owner;
    }

    /** Why the hold ended. */
    public Reason reason() {
        return reason;
    }

    @Override
    List<Map.Entry<String, Object>> values() {
        return List.of(
                Map.entry("lockName", lockName),
                Map.entry("token", token),
                Map.entry("owner", owner),
                Map.entry("reason", reason));
    }

    /**
     * Why a hold ended without its owner's unlock. Later versions may have more of them: have a default for the rest.
     *
     * @since 0.1.0
     */
    public enum Reason {
        /** The lease ran out: a named lease was too short, or the process stood still longer than the lease. */
        EXPIRED("its lease ran out. Name no lease to have it renewed, or a longer one; a process that stands"
                + " still for longer than the lease needs fencing tokens."),
        /**
         * Redis replied that another owner or nobody holds the lock: it was forced open, or its key was deleted or
         * lost.
         */
        TAKEN("Redis no longer knows this hold: it was forced, deleted, or the server lost its data."),
        /**
         * No renewal was confirmed before the deadline, after which the hold is no longer valid: Redis did not answer,
         * refused, or had too few replicas confirm the renewal.
         */
        UNCONFIRMED("no renewal was confirmed in time: Redis did not answer or refused, or too few replicas confirmed"
                + " it. See the log of the outage for the cause."),
        /** The thread that held it has ended without unlocking, or nobody has its handle any more to close it. */
        ABANDONED("its thread had ended without unlock, or its handle was dropped without close()."),
        /** The {@link RedisLocks} that it came from was closed. */
        CLOSED("the RedisLocks was closed before unlock."),
        /** The hold had lasted for its {@link RedisLocks.Builder#maxHold maxHold}. */
        HELD_TOO_LONG(
                "it had lasted for its maxHold. Name a longer maxHold if the work takes that long; if it does not,"
                        + " see what kept it.");

        /** The explanation in the message of an exception. */
        final String explanation;

        Reason(String explanation) {
            this.explanation = explanation;
        }
    }
}
