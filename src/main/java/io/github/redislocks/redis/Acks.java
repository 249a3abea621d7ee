package io.github.redislocks.redis;

/**
 * How many replicas must confirm the writes of a request, and how long to wait for the confirmations.
 *
 * @param replicas at least 1
 * @param timeoutNanos at least 1 ms; the wait also ends with the request's own timeout
 */
public record Acks(int replicas, long timeoutNanos) {}
