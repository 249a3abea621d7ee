package io.github.redislocks.state;

import io.github.redislocks.LockLost;
import org.jspecify.annotations.Nullable;

/**
 * An owner that has its holds on behalf of others, as a client that keeps a lock for its threads. The default methods
 * suit an owner that has its holds for itself.
 */
public interface Keeper {

    /** The keeper for threads and handles, which have their holds for themselves. */
    Keeper NONE = new Keeper() {};

    /** Says who ends the local turn and notifies the listeners after a loss. */
    enum FollowUp {
        /** The client does both. */
        CLIENT,
        /** The keeper has done both. */
        DONE,
        /** The keeper could not do both yet: call it again. */
        LATER
    }

    /** Called, perhaps more than once, after a hold was lost. */
    default FollowUp lost(Hold hold, LockLost.Reason reason) {
        return FollowUp.CLIENT;
    }

    /** Called after the watchdog has continued a release that an error had stopped. */
    default void rescued(Hold hold) {}

    /** The possession by which a thread or a handle has the lock under a hold; null if none has the lock now. */
    default @Nullable Held use(Hold hold) {
        return hold;
    }
}
