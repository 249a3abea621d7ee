package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.handles.AcquireFuture;
import io.github.redislocks.handles.AsyncSeveral;
import io.github.redislocks.handles.RedisMultiLockHandle;
import io.github.redislocks.several.SeveralLocks;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * Several locks on Redis as one lock. {@link RedisLocks#multiLock} makes it. A thread that holds the multi-lock has an
 * ordinary hold of each of its locks.
 *
 * @since 0.1.0
 */
public final class RedisMultiLock implements MultiLock {

    private final LockClient client;
    private final SeveralLocks several;

    RedisMultiLock(LockClient client, SeveralLocks several) {
        this.client = client;
        this.several = several;
    }

    @Override
    public List<String> names() {
        return several.names();
    }

    private boolean acquire(WaitLimit limit) throws InterruptedException {
        Held[] held = several.acquire(null, limit);
        while (held != null && held.length == 0) {
            held = several.acquire(null, limit);
        }
        return held != null;
    }

    @Override
    public void lock() {
        try {
            acquire(several.limit(false));
        } catch (InterruptedException e) {
            throw new AssertionError("lock() does not end by an interrupt", e);
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        acquire(several.limit(true));
    }

    @Override
    public boolean tryLock() {
        try {
            return acquire(several.limitOfTry());
        } catch (InterruptedException e) {
            throw new AssertionError("tryLock() does not end by an interrupt", e);
        }
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return acquire(several.limit(unit.toNanos(time)));
    }

    @Override
    public MultiLockHandle acquire() throws InterruptedException {
        return acquireHandle(several.limit(true)).orElseThrow();
    }

    @Override
    public Optional<MultiLockHandle> tryAcquire(Duration wait) throws InterruptedException {
        return acquireHandle(several.limit(nanos(wait)));
    }

    private Optional<MultiLockHandle> acquireHandle(WaitLimit limit) throws InterruptedException {
        client.attempts.checkOpen();
        return RedisMultiLockHandle.acquire(client, several, limit);
    }

    @Override
    public CompletableFuture<MultiLockHandle> acquireAsync() {
        return acquireAsync(several.limit(false), AcquireFuture.waiting());
    }

    @Override
    public CompletableFuture<Optional<MultiLockHandle>> tryAcquireAsync(Duration wait) {
        return acquireAsync(several.limit(nanos(wait)), AcquireFuture.trying());
    }

    private <R> CompletableFuture<R> acquireAsync(WaitLimit limit, AcquireFuture<MultiLockHandle, R> future) {
        client.attempts.checkOpen();
        new AsyncSeveral(client, several, limit, future).start();
        return future;
    }

    private static long nanos(Duration wait) {
        return TimeUnit.NANOSECONDS.convert(Objects.requireNonNull(wait, "wait"));
    }

    @Override
    public void unlock() {
        several.release(several.possessions(), 0);
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException(
                "Several locks have no Condition: a thread that waits would have to release "
                        + names() + " and to get all of them back. Wait in a Condition of one lock, of"
                        + " reentrantLock(name).newCondition(), and take the others when it has been signalled.");
    }

    @Override
    public long fencingToken(String name) {
        int index = several.indexOf(name);
        ensureHeld();
        return several.parts().get(index).ensureHeld().token;
    }

    @Override
    public void ensureHeld() {
        for (Sync part : several.parts()) {
            part.ensureHeld();
        }
    }

    @Override
    public boolean isHeldByCurrentThread() {
        for (Sync part : several.parts()) {
            if (part.held() == null) {
                return false;
            }
        }
        return true;
    }

    @Override
    public Duration remainingLease() {
        long least = Long.MAX_VALUE;
        for (Sync part : several.parts()) {
            least = Math.min(least, part.remainingNanos());
        }
        return Duration.ofNanos(least);
    }

    @Override
    public boolean previousHolderLost() {
        ensureHeld();
        for (Sync part : several.parts()) {
            if (part.ensureHeld().previousLost) {
                return true;
            }
        }
        return false;
    }

    /** Describes the locks: their names, and whether the calling thread holds them. Asks no server. */
    @Override
    public String toString() {
        return "MultiLock " + Shown.of(names().toString())
                + (isHeldByCurrentThread() ? "[Locked by this thread]" : "[Not locked by this thread]");
    }
}
