package io.github.redislocks.waiting;

import io.github.redislocks.state.Held;
import org.jspecify.annotations.Nullable;

/**
 * Drives an acquisition for which no thread waits. One thread at a time may call {@link #advance}, each time that the
 * owner is woken.
 */
public interface Driver {

    /** Begins the acquisition. Does not wait. */
    void begin();

    /**
     * Takes all steps that are possible without waiting. Returns for how many ns there is nothing to do unless the
     * owner is woken, or {@link Step#ENDED}.
     */
    long advance() throws InterruptedException;

    /** The possession that was acquired; null if the acquisition has not ended, or the lock was busy. */
    @Nullable
    Held hold();

    /** Gives the acquisition up, unless a request is under way; returns whether it has been given up. */
    boolean cancel();

    /** Ends the acquisition after a failure. */
    void abandon();

    /** Ends the acquisition after an error. Gives back what was acquired, since no caller will get it. */
    void strand();
}
