package io.github.redislocks.compat;

/** A store of limited room, as the example has it, whichever lock it was compiled with. */
public interface Bounded {

    /** Waits until there is room. */
    void put(int item) throws InterruptedException;

    /** Waits until there is an item. */
    int take() throws InterruptedException;

    /** Takes an item if there is one now and nobody else is at it. */
    Integer poll();

    int size();
}
