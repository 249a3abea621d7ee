package io.github.redislocks.health;

/** The time since which requests have failed. If the time between two failures is long, they are two outages. */
public final class Outage {

    private final long memoryNanos;
    private volatile long sinceNanos;
    private volatile long lastFailureNanos;

    public Outage(long memoryNanos) {
        this.memoryNanos = memoryNanos;
    }

    /** Notes that the outage is over. */
    public void end() {
        if (sinceNanos != 0) {
            sinceNanos = 0;
        }
    }

    /** Notes the failure of a request that was sent at the given time. */
    public void failed(long sentNanos, long now) {
        if (sinceNanos == 0 || now - lastFailureNanos > memoryNanos) {
            sinceNanos = sentNanos;
        }
        lastFailureNanos = now;
    }

    /** How long the outage has lasted; 0 if there is none. */
    public long age(long now) {
        // Read the last failure before the start: failed() writes them in the other order.
        long last = lastFailureNanos;
        long since = sinceNanos;
        return since == 0 || now - last > memoryNanos ? 0 : Math.max(1, now - since);
    }
}
