package io.github.redislocks.spring;

import io.github.redislocks.RedisLocks;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/**
 * Whether locks can be acquired: asks Redis about a lock that nobody takes, by the way of all requests, so that it is
 * down even if only scripts are refused, or no majority answers.
 */
final class LocksHealthIndicator extends AbstractHealthIndicator {

    /** A lock that is never taken. */
    static final String NOBODYS = "redis-locks:health";

    private final RedisLocks locks;

    LocksHealthIndicator(RedisLocks locks) {
        super("Redis does not answer the client of locks");
        this.locks = locks;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        builder.withDetail("client", locks.clientId())
                .withDetail("held", locks.countHeld())
                .withDetail("waiting", locks.countWaiting());
        locks.inspect(NOBODYS);
        builder.up();
    }
}
