package io.github.redislocks.state;

import io.github.redislocks.LockLost;
import org.jspecify.annotations.Nullable;

/** The possession of a lock by a thread or a handle, valid or lost: a {@link Hold} in Redis, or a share of one. */
public interface Held extends LossSubject {

    LockKeys keys();

    Owner owner();

    long token();

    /** Returns true if the previous holder lost the lock. */
    boolean previousLost();

    /** The time at which the owner acquired the lock. */
    long acquiredNanos();

    /** The hold count; after a loss, the number of unlocks that are left. Of the owner's thread. */
    int count();

    /** Returns true if nobody has ended the possession yet, though its deadline may have passed. */
    boolean isOpen();

    /** The validity deadline; 0 or less after the end. */
    long deadlineNanos();

    /** The reason of the loss, or null if there was none. */
    LockLost.@Nullable Reason lossReason();

    /** The event that says that the possession was lost for the given reason. */
    default LockLost loss(LockLost.Reason reason) {
        return LockLost.of(keys().name(), token(), owner().description(), reason);
    }

    /** Notes that listeners were notified of the acquisition. */
    void announced();

    /** Returns true if the owner acquired the lock without a request. */
    default boolean isUnasked() {
        return false;
    }
}
