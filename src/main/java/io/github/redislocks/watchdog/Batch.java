package io.github.redislocks.watchdog;

/** Collects the jobs that are due now, to be sent together. */
@FunctionalInterface
public interface Batch {

    /**
     * Adds a job for a lock key. If the key's server is still busy with an earlier batch, the job is left out and due
     * again when that batch is done.
     */
    void add(String key, Job job);
}
