package io.github.redislocks.spring;

import io.github.redislocks.micrometer.LockMetrics;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;

/**
 * Makes the {@link LockMetrics} of the locks that {@link RedisLocksAutoConfiguration} makes, if there is a registry of
 * Micrometer. Spring Boot binds the metrics to the registry, as it does with every bean that is a MeterBinder.
 */
@AutoConfiguration(
        before = RedisLocksAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration"
        })
@ConditionalOnClass(name = "io.micrometer.core.instrument.MeterRegistry")
@ConditionalOnBean(type = "io.micrometer.core.instrument.MeterRegistry")
@ConditionalOnProperty(prefix = "redis-locks", name = "enabled", matchIfMissing = true)
final class RedisLocksMetricsAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    LockMetrics redisLocksMetrics() {
        return new LockMetrics();
    }

    /**
     * Includes the auto-configured locks in the gauges. For locks that the application makes itself, it has to call
     * {@link LockMetrics#watch}.
     */
    @Bean
    SmartInitializingSingleton redisLocksGauges(LockMetrics metrics, ObjectProvider<RedisLocksConnector> connectors) {
        return () -> connectors.ifAvailable(connector -> connector.whenConnected(metrics::watch));
    }
}
