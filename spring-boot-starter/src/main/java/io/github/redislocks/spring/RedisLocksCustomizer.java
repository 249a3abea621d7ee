package io.github.redislocks.spring;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;

/**
 * Changes the settings of the {@link RedisLocks} that Spring Boot makes, after the properties were applied. All beans
 * of this type are called, in their order.
 *
 * <pre>{@code
 * @Bean
 * RedisLocksCustomizer alarms(Alarms alarms) {
 *     return builder -> builder.onLockLost(loss -> alarms.add(loss));
 * }
 * }</pre>
 *
 * <p>Listeners need no customizer: each bean that is a {@link io.github.redislocks.LockListener} is added as a
 * listener.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface RedisLocksCustomizer {

    /** Changes the settings. */
    void customize(RedisLocksBuilder builder);
}
