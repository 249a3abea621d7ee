package io.github.redislocks.watchdog;

/** Something that the watchdog looks after, such as holds or waiters. */
@FunctionalInterface
public interface Task {

    /**
     * Adds the jobs that are due, and returns the time of the next inspection that this task needs.
     *
     * @param horizon the earliest time of the next inspection; jobs that may be done early count as due if due before
     *     it
     */
    long inspect(long now, long horizon, Batch due);

    /** How long the watchdog should rest after a walk, so that walks cost little; asked before each walk. */
    default long restNanos() {
        return 0;
    }
}
