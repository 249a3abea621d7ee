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
        EXPIRED(
                0,
                "its lease ran out. Name no lease to have it renewed, or a longer one; a process that stands"
                        + " still for longer than the lease needs fencing tokens."),
        /** Redis says that somebody else has it or nobody: it was forced, deleted or wiped. */
        TAKEN(1, "Redis no longer knows this hold: it was forced, deleted, or the server lost its data."),
        /** Redis did not answer the renewals until the deadline, after which the hold can no longer be relied upon. */
        UNCONFIRMED(2, "Redis did not answer in time to renew it."),
        /** The thread that held it has ended without unlocking. */
        ABANDONED(3, "the thread had ended."),
        /** The {@link RedisLocks} that it came from was closed. */
        CLOSED(4, "the RedisLocks was closed before unlock.");

        /** By which a hold notes it. */
        final int number;

        /** What the message of an exception says of it. */
        final String explanation;

        Reason(int number, String explanation) {
            this.number = number;
            this.explanation = explanation;
        }
    }
}
