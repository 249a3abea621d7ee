package io.github.redislocks;

/** Since when Redis has not answered this client. Failures that lie far apart are not one outage. */
final class Outage {

    private final long memoryNanos;
    private volatile long sinceNanos;
    private volatile long lastFailureNanos;
    private volatile long lastUnansweredNanos;

    Outage(long memoryNanos) {
        this.memoryNanos = memoryNanos;
    }

    void answered() {
        if (sinceNanos != 0) {
            sinceNanos = 0;
        }
    }

    /** Notes a failure of a request that was sent at a time. */
    void failed(long sentNanos, long now) {
        if (sinceNanos == 0 || now - lastFailureNanos > memoryNanos) {
            sinceNanos = sentNanos;
        }
        lastFailureNanos = now;
        lastUnansweredNanos = sentNanos;
    }

    /** Whether a request that was sent since a time has failed: what failed before says nothing to who came later. */
    boolean met(long sinceNanos) {
        return lastUnansweredNanos > sinceNanos;
    }

    /** How long the outage has lasted; 0 if there is none. */
    long age(long now) {
        long since = sinceNanos;
        return since == 0 || now - lastFailureNanos > memoryNanos ? 0 : Math.max(1, now - since);
    }
}
