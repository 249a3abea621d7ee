package io.github.redislocks.redis;

/**
 * How many replicas must confirm what a request wrote, and how long to wait for that.
 *
 * @param replicas 1 or more
 * @param timeoutNanos 1 ms or more; the wait ends earlier if the request's own timeout does
 */
public record Acks(int replicas, long timeoutNanos) {}
