package io.github.redislocks.redis;

/**
 * How many replicas must confirm the writes of a request, and how long to wait for the confirmations.
 *
 * @param replicas 1 or more
 * @param timeoutNanos 1 ms or more; the wait ends earlier if the request's own timeout does
 */
public record Acks(int replicas, long timeoutNanos) {}
