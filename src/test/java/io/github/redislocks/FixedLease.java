package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import java.time.Duration;

/** Makes further lock objects of a lock, with other leases. */
public final class FixedLease {

    private FixedLease() {}

    /** A lock object of the same lock and client, with a lease that is not renewed. */
    public static RedisReentrantLock fixed(RedisReentrantLock lock, Duration lease) {
        LockClient client = lock.client;
        return new RedisReentrantLock(
                client, client.lock(lock.getName(), lock.isFair(), client.settings.withFixedLease(lease)));
    }
}
