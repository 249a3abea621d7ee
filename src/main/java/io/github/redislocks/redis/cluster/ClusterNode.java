package io.github.redislocks.redis.cluster;

import io.github.redislocks.redis.Address;

/** A node of a cluster. Two nodes are the same only if both id and address are the same. */
public record ClusterNode(String id, Address address) {}
