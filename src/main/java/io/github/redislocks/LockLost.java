package io.github.redislocks;

import java.io.Serializable;

/**
 * A hold that ended without its owner's unlock.
 *
 * @param lockName the name of the lock
 * @param token the fencing token of the hold that was lost
 * @param ownerThreadName the name of the thread that held it, as it was when the loss was seen
 * @param reason why the hold ended
 */
public record LockLost(String lockName, long token, String ownerThreadName, Reason reason) implements Serializable {

    /** Why a hold ended without its owner's unlock. */
    public enum Reason {
        /** Its lease ran out: an explicit lease was too short, or the process stood still for longer than the lease. */
        EXPIRED,
        /** Redis says that somebody else has it or nobody: it was forced, deleted or wiped. */
        TAKEN,
        /** Redis did not answer the renewals until the deadline, after which the hold can no longer be relied upon. */
        UNCONFIRMED,
        /** The thread that held it has ended without unlocking. */
        ABANDONED,
        /** The {@link RedisLocks} that it came from was closed. */
        CLOSED
    }
}
