package io.github.redislocks.waiting;

import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.WaitLimit;
import org.jspecify.annotations.Nullable;

/** The end of a writer's hold whose thread reads on: one script turns the hold into a share. */
public interface Downgrade {

    /** The attempt that gets the share. The release of the hold names it as its successor. */
    Attempt share();

    /**
     * Called once after the release, even after an error. Waits for the share.
     *
     * @param way how the calling thread goes on with the attempt
     * @param released whether the hold was released without a loss, or is being released in the background
     */
    void goOn(Way way, boolean released);

    /** Drives an attempt on the calling thread. */
    @FunctionalInterface
    interface Way {

        /** Returns the hold of the attempt; null if it got none. */
        @Nullable
        Hold acquire(Attempt attempt, WaitLimit limit) throws InterruptedException;
    }
}
