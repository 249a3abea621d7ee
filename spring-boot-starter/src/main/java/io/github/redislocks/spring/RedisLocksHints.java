package io.github.redislocks.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.TypeReference;

/**
 * Registers what a native image needs for this library: the scripts, the file with the version of Jedis, and one proxy
 * of Jedis.
 */
final class RedisLocksHints implements RuntimeHintsRegistrar {

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
        hints.resources()
                .registerPattern("io/github/redislocks/script/lua/*.lua")
                .registerPattern("redis/clients/jedis/pom.properties");
        hints.proxies().registerJdkProxy(TypeReference.of("redis.clients.jedis.JedisClientConfig"));
    }
}
