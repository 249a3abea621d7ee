package io.github.redislocks.spring;

import io.github.redislocks.JedisServers;

/** The source of the servers if no property {@code redis-locks.*} names them. */
@FunctionalInterface
interface RedisServerSource {

    /** Returns the servers. */
    JedisServers servers();
}
