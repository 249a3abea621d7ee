package io.github.redislocks.spring;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties {@code redis-locks.*}. A value that is null leaves the default of
 * {@link io.github.redislocks.RedisLocksBuilder}. The page docs/spring.md and
 * META-INF/spring-configuration-metadata.json have the same list.
 */
@ConfigurationProperties("redis-locks")
record RedisLocksProperties(
        @DefaultValue("true") boolean enabled,
        @Nullable String url,
        @Nullable List<String> quorum,
        @DefaultValue("lazy") Startup startup,
        @Nullable Duration connectWithin,
        @DefaultValue("5s") Duration drain,
        @Nullable String keyPrefix,
        @Nullable Duration lease,
        @Nullable Duration retryFor,
        @Nullable Duration commandTimeout,
        @Nullable Integer maxConnections,
        @Nullable Integer replicaAcks,
        @Nullable Duration failoverGrace,
        @Nullable Duration restartDelay,
        @Nullable Duration tokenMemory,
        @Nullable Duration maxHold,
        @Nullable Duration residency,
        @Nullable Boolean watchDeletions,
        @Nullable Duration slowWait,
        @Nullable Duration slowHold,
        @Nullable Integer lockedOrder,
        @DefaultValue Endpoint endpoint) {

    /** The behaviour of the application at its start if Redis is not available. */
    enum Startup {
        /** The application starts, and locks can be acquired once Redis is available. */
        LAZY,
        /** The start fails, after {@code connectWithin}. */
        EAGER
    }

    /**
     * The properties of the endpoint {@code locks} of the Actuator.
     *
     * @param force whether the endpoint can force locks open
     */
    record Endpoint(@DefaultValue("false") boolean force) {}
}
