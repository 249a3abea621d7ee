package io.github.redislocks.spring;

import io.github.redislocks.RedisLocks;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/**
 * Makes a health indicator {@code redisLocks}, only for Spring Boot 4: the health types of Boot 3.5 have other names.
 * The property {@code management.health.redis-locks.enabled=false} turns the indicator off.
 */
@AutoConfiguration(after = RedisLocksAutoConfiguration.class)
@ConditionalOnClass(
        name = {
            "org.springframework.boot.health.contributor.HealthIndicator",
            "org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator"
        })
@ConditionalOnSingleCandidate(RedisLocks.class)
@ConditionalOnEnabledHealthIndicator("redis-locks")
final class RedisLocksHealthAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean(name = "redisLocksHealthIndicator")
    HealthIndicator redisLocksHealthIndicator(RedisLocks locks) {
        return new LocksHealthIndicator(locks);
    }
}
