package io.github.redislocks.redis.cluster;

import redis.clients.jedis.HostAndPort;

/** A node of a cluster. One with another id at the same address is another node, and so is one at another address. */
public record ClusterNode(String id, HostAndPort address) {}
