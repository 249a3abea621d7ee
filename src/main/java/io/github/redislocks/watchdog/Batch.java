package io.github.redislocks.watchdog;

/** What is due now, to be sent together. */
@FunctionalInterface
public interface Batch {

    /**
     * Takes a job on a lock key, unless its server has a batch to answer: then the watchdog comes back when that has
     * ended.
     */
    void add(String key, Job job);
}
