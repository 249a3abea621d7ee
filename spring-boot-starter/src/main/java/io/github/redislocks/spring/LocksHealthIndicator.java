package io.github.redislocks.spring;

import io.github.redislocks.RedisLocks;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/**
 * Shows whether locks can be acquired: asks Redis about a lock that nobody takes. The request is a script, as all
 * requests for locks are. So the indicator is down even if Redis refuses only scripts, or if no majority of a quorum
 * answers.
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
                .withDetail("waiting", locks.countWaitingCalls());
        locks.inspect(NOBODYS);
        builder.up();
    }
}
