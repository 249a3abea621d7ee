package io.github.redislocks.watchdog;

/** What the watchdog looks after. */
@FunctionalInterface
public interface Task {

    /**
     * Adds the jobs that are due, and returns when it wants to be asked again.
     *
     * @param horizon before this it will not be asked again; what may be done sooner than due is due by then
     */
    long inspect(long now, long horizon, Batch due);

    /** How long the watchdog is to rest after a walk, so that looking costs little; asked before each walk. */
    default long restNanos() {
        return 0;
    }
}
