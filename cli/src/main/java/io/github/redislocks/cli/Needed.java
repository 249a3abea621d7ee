package io.github.redislocks.cli;

import io.github.redislocks.Handle;
import io.github.redislocks.LeasedLock;
import io.github.redislocks.LockInspection;
import io.github.redislocks.LockOwner;
import io.github.redislocks.Permits;
import io.github.redislocks.PermitsInspection;
import io.github.redislocks.RedisLocks;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** The lock, or the permit of a pool, that a command needs in order to run. */
interface Needed {

    /** Waits without a limit. */
    Handle acquire() throws InterruptedException;

    /** Waits for the given time; empty if somebody else had it throughout. */
    Optional<? extends Handle> tryAcquire(Duration wait) throws InterruptedException;

    /** Asks Redis why it is busy. */
    Seen look();

    /**
     * Why something is busy.
     *
     * @param why such as {@code held by a handle of process 1 on host}; empty if it is free
     * @param queue the owners that wait, in the order in which they will be served
     */
    record Seen(Optional<String> why, List<LockOwner> queue) {}

    /** A lock, or its read lock. */
    record OfLock(RedisLocks locks, String name, LeasedLock<?> lock) implements Needed {

        @Override
        public Handle acquire() throws InterruptedException {
            return lock.acquire();
        }

        @Override
        public Optional<? extends Handle> tryAcquire(Duration wait) throws InterruptedException {
            return lock.tryAcquire(wait);
        }

        @Override
        public Seen look() {
            LockInspection seen = locks.inspect(name);
            Optional<String> why = seen.holder()
                    .map(holder -> "held by " + InspectCommand.owner(holder.owner())
                            + (holder.owner().isReaders()
                                    ? ""
                                    : " for " + Times.show(Duration.between(holder.since(), Instant.now()))))
                    .or(() -> seen.keptFor().map(time -> "released, but unavailable for another " + Times.show(time)));
            return new Seen(
                    why, seen.queue().stream().map(LockInspection.Waiter::owner).toList());
        }
    }

    /** A permit of a pool. */
    record OfPool(Permits pool) implements Needed {

        @Override
        public Handle acquire() throws InterruptedException {
            return pool.acquire();
        }

        @Override
        public Optional<? extends Handle> tryAcquire(Duration wait) throws InterruptedException {
            return pool.tryAcquire(wait);
        }

        @Override
        public Seen look() {
            PermitsInspection seen = pool.inspect();
            return new Seen(
                    Optional.of(seen.size() - seen.available() + " of " + seen.size() + " permits are held"),
                    seen.waiting().stream()
                            .map(PermitsInspection.Waiting::owner)
                            .toList());
        }
    }
}
