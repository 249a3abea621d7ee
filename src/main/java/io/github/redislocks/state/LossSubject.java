package io.github.redislocks.state;

import io.github.redislocks.LockLost;

/** A lost possession. After an error it may be reported again, and listeners are notified once all the same. */
public interface LossSubject {

    /** Tells the handle that had it, if a handle did. May be said more than once. */
    default void tellHandle(LockLost loss) {}

    /** Whether a handle had it. */
    default boolean isOfHandle() {
        return false;
    }

    /** Whether the listeners were told of its acquisition, or never will be. */
    default boolean isAnnounced() {
        return true;
    }

    /** Whether this is the first time that it is told; asked by one thread at a time, which then tells. */
    boolean isToldFirst();
}
