package io.github.redislocks.watchdog;

/** A kind of thing that the watchdog looks after, such as holds or waiters. */
@FunctionalInterface
public interface Task {

    /**
     * Adds the jobs that are due, and returns the time at which this task needs the next inspection.
     *
     * @param horizon the earliest time of the next inspection; a job that may be sent early counts as due if its time
     *     is before the horizon
     */
    long inspect(long now, long horizon, Batch due);

    /** How long the watchdog should rest after a sweep, so that sweeps cost little. Called before each sweep. */
    default long restNanos() {
        return 0;
    }
}
