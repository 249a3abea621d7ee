package io.github.redislocks.spring;

import io.github.redislocks.micrometer.LockObservations;
import io.micrometer.observation.ObservationRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;

/**
 * Makes the {@link LockObservations} of the locks that {@link RedisLocksAutoConfiguration} makes, if there is a
 * registry of observations. The locks notify this bean as they notify every bean that is a listener.
 */
@AutoConfiguration(
        before = RedisLocksAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration"
        })
@ConditionalOnClass(name = "io.micrometer.observation.ObservationRegistry")
@ConditionalOnBean(type = "io.micrometer.observation.ObservationRegistry")
@ConditionalOnProperty(prefix = "redis-locks", name = "enabled", matchIfMissing = true)
final class RedisLocksObservationAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    LockObservations redisLocksObservations(ObservationRegistry registry) {
        return new LockObservations(registry);
    }
}
