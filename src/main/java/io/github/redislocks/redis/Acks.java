package io.github.redislocks.redis;

/**
 * How many replicas must have what a request wrote, and how long to wait for that.
 *
 * @param replicas 1 or more
 * @param timeoutNanos 1 ms or more; less is waited if the request's own time ends before
 */
public record Acks(int replicas, long timeoutNanos) {}
