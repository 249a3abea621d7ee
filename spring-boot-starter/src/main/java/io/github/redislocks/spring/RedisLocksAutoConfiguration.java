package io.github.redislocks.spring;

import io.github.redislocks.LockListener;
import io.github.redislocks.Locks;
import io.github.redislocks.RedisLocks;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/**
 * Makes a {@link RedisLocks} for Spring Boot, unless there is a bean of the type {@link Locks}. The {@link RedisLocks}
 * connects to the servers in {@code redis-locks.url} or {@code redis-locks.quorum}. Without these properties it
 * connects to the Redis of Spring Boot, from {@code spring.data.redis.*}, Testcontainers or Docker Compose. It is
 * closed after the beans that use it.
 */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration",
            "org.springframework.boot.autoconfigure.data.redis.RedisAutoConfiguration"
        })
@ConditionalOnProperty(prefix = "redis-locks", name = "enabled", matchIfMissing = true)
@ConditionalOnMissingBean(Locks.class)
@EnableConfigurationProperties(RedisLocksProperties.class)
final class RedisLocksAutoConfiguration {

    /** The beans for Spring Boot 4. This class is not loaded without the type of the connection details. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails")
    static class BootFour {

        @Bean
        @ConditionalOnBean(DataRedisConnectionDetails.class)
        RedisServerSource redisLocksServersOfConnectionDetails(
                DataRedisConnectionDetails details, Environment environment, ObjectProvider<SslBundles> bundles) {
            return new ConnectionDetailsServers(
                    details, new DataRedisProperties(environment, bundles.getIfAvailable()));
        }
    }

    @Bean
    RedisLocksConnector redisLocksConnector(
            RedisLocksProperties properties,
            ObjectProvider<RedisServerSource> source,
            Environment environment,
            ObjectProvider<SslBundles> bundles) {
        RedisServerSource otherwise =
                source.getIfAvailable(() -> new DataRedisProperties(environment, bundles.getIfAvailable()));
        return new RedisLocksConnector(properties, otherwise, environment.getProperty("spring.application.name", ""));
    }

    /** Makes the locks. The connector closes them, so this bean has no destroy method. */
    @Bean(destroyMethod = "")
    RedisLocks redisLocks(
            RedisLocksConnector connector,
            ObjectProvider<LockListener> listeners,
            ObjectProvider<RedisLocksCustomizer> customizers) {
        return connector.connect(listeners.orderedStream(), customizers.orderedStream());
    }
}
