package io.github.redislocks.engine;

import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Owner;
import org.jspecify.annotations.Nullable;

/**
 * A thread that waits in a Condition. For the wait, the thread gives up a hold: its own, or the hold of its client. The
 * default methods suit a hold of its own.
 */
public interface ConditionWaiter {

    /** The owner that gets the lock back. */
    Owner owner();

    /** The hold count after the wait. */
    int count();

    /** An earlier hold that was lost and that the thread still has to unlock; or null. */
    @Nullable
    Hold below();

    /** Called before the release begins; returns false if the thread has lost the lock. */
    default boolean begins(long now) {
        return true;
    }

    /** Called when the hold has ended. */
    default void hasGivenUp() {}

    /** The owner of a hold as the waiter. */
    record OwnerOf(Hold hold) implements ConditionWaiter {

        @Override
        public Owner owner() {
            return hold.owner;
        }

        @Override
        public int count() {
            return hold.count();
        }

        @Override
        public @Nullable Hold below() {
            return hold.below;
        }
    }
}
