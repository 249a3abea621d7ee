package io.github.redislocks;

import io.github.redislocks.client.Inside;
import io.github.redislocks.handles.RedisLockHandle;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A lock that a handle holds and for which two acquisitions without threads wait in line; on the in-memory twin. */
final class HandleLine {

    static final String ORPHANED = "nobody's";

    private static final InMemoryRedis SERVER = OnTwin.Still.SERVER;

    private final String name = OnTwin.name();
    private final LockKeys keys = OnTwin.keys(name);
    private final RedisLocks waiting;
    final RedisLockHandle held;
    final CompletableFuture<LockHandle> first;
    final CompletableFuture<LockHandle> second;

    /** Makes the lock. The holder and the waiters may be of one client. */
    HandleLine(RedisLocks holding, RedisLocks waiting) {
        this.waiting = waiting;
        this.held = holder(holding, name);
        this.first = waiting.reentrantLock(name).acquireAsync();
        this.second = waiting.reentrantLock(name).acquireAsync();
        boolean stands = Aside.await(
                OnTwin.Slow.LIMIT.toNanos(),
                () -> waiting == holding || !SERVER.zset(keys.all().get(1)).isEmpty());
        if (!stands) {
            throw new IllegalStateException("The first has no place in the line");
        }
    }

    /** Acquires a free lock for a handle. */
    static RedisLockHandle holder(RedisLocks locks, String name) {
        try {
            return (RedisLockHandle) locks.reentrantLock(name).acquire();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the hold of a handle of the given client. */
    static Hold hold(RedisLocks locks, RedisLockHandle handle) {
        return Inside.of(locks.client()).holds().get(handle.sync().keys(), handle.handleOwner().holder);
    }

    /** Waits for a random time of at most half a millisecond: about the time that a grant takes. */
    static void aMoment() {
        long end = System.nanoTime() + ThreadLocalRandom.current().nextInt(500_000);
        while (System.nanoTime() < end) {
            Thread.yield();
        }
    }

    /** Waits for a handle, for the given time at most; null if the lock was not acquired. */
    static LockHandle await(CompletableFuture<LockHandle> waiter, Duration limit) {
        try {
            return waiter.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return null;
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Whether Redis says that the given handle has the lock. */
    boolean isWith(LockHandle handle) {
        return handle.owner().equals(SERVER.hash(keys.lock()).get("owner")) && handle.isHeld();
    }

    /** Whether the lock becomes free within the given time, and nothing of it is left in Redis and in the clients. */
    boolean isFree(Duration limit) {
        boolean free = Aside.await(
                limit.toNanos(),
                () -> keys.all().stream().allMatch(key -> key.equals(keys.fence()) || SERVER.pttl(key) == -2)
                        && !Inside.of(waiting.client()).localQueue().isInUse(keys.lock())
                        && !isAttempted());
        OnTwin.Still.forget(name);
        return free;
    }

    private boolean isAttempted() {
        for (Attempt attempt : Inside.of(waiting.client()).attempts().all()) {
            if (attempt.keys.name().equals(name)) {
                return true;
            }
        }
        return false;
    }
}
