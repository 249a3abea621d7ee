package io.github.redislocks;

/** Hears of every hold that ended without its owner's unlock. */
@FunctionalInterface
public interface LockLostListener {

    /**
     * Called once per loss, on a thread of the library that does nothing else, after the queries of the lock have
     * turned. It may block; later losses then wait. What it throws is logged.
     */
    void lockLost(LockLost loss);
}
