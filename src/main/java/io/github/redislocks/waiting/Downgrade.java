package io.github.redislocks.waiting;

import io.github.redislocks.state.Attempt;

/** The end of a writer's hold whose thread reads on: one script turns the hold into a share. */
public interface Downgrade {

    /** The attempt that gets the share. The release of the hold names it as its successor. */
    Attempt share();

    /**
     * Called once after the release, also after an error. Waits for the share.
     *
     * @param released whether the hold was released without a loss, or is being released in the background
     */
    void goOn(Acquisitions acquisitions, boolean released);
}
