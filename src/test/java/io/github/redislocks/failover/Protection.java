package io.github.redislocks.failover;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import java.time.Duration;

/** The protections of a client against holds that a failover forgets. */
enum Protection {
    NONE,
    ACKS,
    GRACE;

    static final Duration LEASE = Duration.ofSeconds(5);

    RedisLocks connect(String uri) {
        RedisLocksBuilder builder = RedisLocks.builder()
                .uri(uri)
                .lease(LEASE)
                .commandTimeout(Duration.ofMillis(500))
                .retryFor(Duration.ofMinutes(1));
        return switch (this) {
            case NONE -> builder.build();
            case ACKS -> builder.replicaAcks(1).build();
            case GRACE -> builder.failoverGrace(LEASE).build();
        };
    }
}
