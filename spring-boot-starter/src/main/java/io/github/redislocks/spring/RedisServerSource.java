package io.github.redislocks.spring;

import io.github.redislocks.JedisServers;

/** Says where Redis is if no property {@code redis-locks.*} does. */
@FunctionalInterface
interface RedisServerSource {

    /** The servers. */
    JedisServers servers();
}
