package io.github.redislocks.spring;

import io.github.redislocks.RedisLocks;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** Makes the endpoint {@code locks} of the Actuator, if it is exposed. */
@AutoConfiguration(after = RedisLocksAutoConfiguration.class)
@ConditionalOnClass(
        name = "org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint")
@ConditionalOnSingleCandidate(RedisLocks.class)
@ConditionalOnAvailableEndpoint(LocksEndpoint.class)
final class RedisLocksEndpointAutoConfiguration {

    @Bean
    @ConditionalOnProperty(prefix = "redis-locks.endpoint", name = "force", havingValue = "true")
    @ConditionalOnMissingBean(LocksEndpoint.class)
    ForcingLocksEndpoint redisLocksForcingEndpoint(RedisLocks locks) {
        return new ForcingLocksEndpoint(locks);
    }

    @Bean
    @ConditionalOnMissingBean
    LocksEndpoint redisLocksEndpoint(RedisLocks locks) {
        return new LocksEndpoint(locks);
    }
}
