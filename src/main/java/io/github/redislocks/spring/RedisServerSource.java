package io.github.redislocks.spring;

import io.github.redislocks.JedisServers;
import org.jspecify.annotations.Nullable;

/** Says where Redis is if no property {@code redis-locks.*} does. */
@FunctionalInterface
interface RedisServerSource {

    /** The servers, or null if it knows of none. */
    @Nullable
    JedisServers servers();
}
