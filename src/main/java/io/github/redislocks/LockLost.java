package io.github.redislocks;

import java.io.Serial;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The event of {@link LockListener#lost}: a hold has ended without its owner's unlock.
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
    private final Mode mode;
    private final String ownerId;

    private LockLost(String lockName, long token, String owner, Reason reason, Mode mode, String ownerId) {
        this.lockName = Objects.requireNonNull(lockName, "lockName");
        this.token = token;
        this.owner = Objects.requireNonNull(owner, "owner");
        this.reason = Objects.requireNonNull(reason, "reason");
        this.mode = Objects.requireNonNull(mode, "mode");
        this.ownerId = Objects.requireNonNull(ownerId, "ownerId");
    }

    /** Makes an event, for tests of code that handles losses. */
    public static LockLost of(String lockName, long token, String owner, Reason reason) {
        return new LockLost(lockName, token, owner, reason, Mode.WRITE, "");
    }

    /**
     * Makes the same event of another mode, for tests of code that handles losses. Without this call the mode is WRITE.
     */
    public LockLost withMode(Mode other) {
        return other == mode ? this : new LockLost(lockName, token, owner, reason, other, ownerId);
    }

    /** Makes the same event of another owner, for tests of code that handles losses. */
    public LockLost withOwnerId(String other) {
        return new LockLost(lockName, token, owner, reason, mode, other);
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
     * empty if the loss was noticed after the unlock. The holds of readers have the same token, but different owners.
     * Two events that differ in the owner alone are equal.
     */
    public String ownerId() {
        return ownerId;
    }

    /** The fencing token of the hold that was lost; of a read lock, the token of the last writer. */
    public long token() {
        return token;
    }

    /**
     * A description of the owner for people. For a thread, it is {@code thread} and the thread's name when the loss was
     * noticed. For a handle, it is {@code handle} and the number at the end of {@link LockHandle#owner()}. For a loss
     * that was noticed after the unlock, as {@link LockListener#lost} explains, it is {@code a thread that has unlocked
     * it since}.
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
                Map.entry("mode", mode),
                Map.entry("token", token),
                Map.entry("owner", owner),
                Map.entry("reason", reason));
    }

    /**
     * Why a hold ended without its owner's unlock. Later versions may add reasons, so a {@code switch} needs a default.
     *
     * @since 0.1.0
     */
    public enum Reason {
        /** The lease ended: a fixed lease was too short, or the process was paused for longer than the lease. */
        EXPIRED("its lease ran out. Use no fixedLease to have the hold renewed, or a longer lease; if the"
                + " process may be paused for longer than the lease, use fencing tokens."),
        /**
         * Redis replied that another owner or nobody holds the lock: the lock was forced open, its key was deleted, or
         * the server lost its data.
         */
        TAKEN(
                "Redis no longer has this hold: the lock was forced open, its key was deleted, or the server lost its data."),
        /**
         * No renewal was confirmed before the deadline of the hold: Redis did not answer or refused, or too few
         * replicas confirmed the renewal.
         */
        UNCONFIRMED("no renewal was confirmed in time: Redis did not answer or refused, or too few replicas confirmed"
                + " it. See the log of the outage for the cause."),
        /** The thread of the hold has ended without {@code unlock()}, or nobody refers to the handle any more. */
        ABANDONED("its thread ended without unlock(), or its handle was dropped without close()."),
        /** The {@link RedisLocks} of the lock was closed before the hold was released. */
        CLOSED("the RedisLocks was closed before unlock()."),
        /** The hold has reached its {@link RedisLocksBuilder#maxHold maxHold}. */
        HELD_TOO_LONG(
                "it reached its maxHold. Set a longer maxHold if the work takes that long; otherwise find out what"
                        + " delayed the work.");

        /** The explanation in the message of a {@link LockLostException}. */
        final String explanation;

        Reason(String explanation) {
            this.explanation = explanation;
        }
    }
}
