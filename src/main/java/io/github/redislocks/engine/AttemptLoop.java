package io.github.redislocks.engine;

import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.MemoryEdge;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Acquisitions;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.BatchDriver;
import io.github.redislocks.waiting.WaitingParts;
import org.jspecify.annotations.Nullable;

/**
 * Acquires a lock that the owner does not hold, in Redis. There is one object for each client; the lock is an argument.
 */
final class AttemptLoop {

    private final RedisAccess access;
    private final Clock clock;
    private final Attempts attempts;
    private final Acquisitions acquisitions;

    AttemptLoop(RedisAccess access, WaitingParts parts, Acquisitions acquisitions) {
        this.access = access;
        this.clock = access.clock();
        this.attempts = parts.attempts();
        this.acquisitions = acquisitions;
    }

    /** Makes the driver of one attempt for which no thread waits. */
    BatchDriver unattended(LockObject lock, Owner owner, WaitLimit limit) {
        return acquisitions.unattended(attempts.make(lock.keys, owner, lock.request, limit), limit);
    }

    /**
     * Acquires a lock for a thread that waits. Makes one attempt after the other, as long as the only obstacle is that
     * too few replicas confirm the grant. Null if the lock was busy.
     */
    @Nullable
    Hold acquire(LockObject lock, Owner owner, WaitLimit limit, @Nullable Hold lost) throws InterruptedException {
        if (!acquisitions.mayBegin(lock.keys, owner, limit)) {
            return null;
        }
        long began = clock.nanoTime();
        Backoff backoff = null;
        while (true) {
            // Every try needs a new attempt: the background command that withdraws an earlier attempt may run late, and
            // must not withdraw this one.
            Acquisitions.OfLock acquisition = acquisitions.of(
                    attempts.make(lock.keys, owner, lock.request, limit),
                    limit,
                    lost,
                    !lock.crowded && access.redis().hasLines() && !owner.isShared());
            try {
                Hold hold = acquisitions.driver().drive(acquisition);
                lock.crowded = !acquisition.stayedOnFastPath();
                owner.foundOthers(!acquisition.tookFree());
                MemoryEdge.publish();
                return hold;
            } catch (RedisException.Unacknowledged e) {
                long now = clock.nanoTime();
                if (!limit.waits()
                        || limit.isTooLate(
                                access.monitored().replication(lock.keys.lock()).age(now), now)) {
                    throw access.unavailable()
                            .notAcknowledged(
                                    lock.keys,
                                    now - began,
                                    access.monitored().of(lock.keys.lock()).silence(now) > 0,
                                    e);
                }
                backoff = backoff == null ? Backoff.ofRequests() : backoff;
                clock.pause(lock, Math.min(backoff.next(), limit.remaining(now)));
                limit.throwIfInterrupted();
                access.monitored().retried();
            }
        }
    }
}
