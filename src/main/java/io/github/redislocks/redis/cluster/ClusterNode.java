package io.github.redislocks.redis.cluster;

import io.github.redislocks.redis.Address;

/** A node of a cluster. The same id at another address is another node, and so is another id at the same address. */
public record ClusterNode(String id, Address address) {}
