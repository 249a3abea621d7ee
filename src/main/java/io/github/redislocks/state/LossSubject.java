package io.github.redislocks.state;

import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.Shown;

/** A lost possession. After an error its loss may be reported again, but the listeners are notified once. */
public interface LossSubject {

    /** Passes the loss to the handle that had the lock, if a handle had it. May be called more than once. */
    default void tellHandle(LockLost loss) {}

    /** The name of what was lost, for the log. */
    default String shown(LockLost loss) {
        return "lock \"" + Shown.of(loss.lockName()) + '"';
    }

    /** Whether a handle had the lock. */
    default boolean isOfHandle() {
        return false;
    }

    /** Whether the listeners were notified of the acquisition, or never will be. */
    default boolean isAnnounced() {
        return true;
    }

    /** True for the first call, whose caller notifies the listeners of the loss. One thread at a time calls it. */
    boolean isToldFirst();
}
