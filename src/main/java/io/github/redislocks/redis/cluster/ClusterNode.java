package io.github.redislocks.redis.cluster;

import io.github.redislocks.redis.Address;

/** A node of a cluster. Two nodes are equal only if both their ids and their addresses are equal. */
public record ClusterNode(String id, Address address) {}
