package io.github.redislocks.handles;

import io.github.redislocks.LockHandle;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.state.PermitPool;
import io.github.redislocks.state.WaitLimit;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** The handle of one lock. Thread-safe. */
public class RedisLockHandle extends RedisSingleHandle implements LockHandle {

    public RedisLockHandle(LockClient client, Sync sync) {
        super(client, sync);
    }

    /** Makes the handle of some permits. */
    RedisLockHandle(LockClient client, PermitPool pool, int wanted) {
        super(client, pool, wanted);
    }

    /** Acquires the lock; the calling thread waits. The result is empty if the lock was busy. */
    public final Optional<LockHandle> acquire(WaitLimit limit) throws InterruptedException {
        return take(limit) ? Optional.of(this) : Optional.empty();
    }

    /** Acquires the lock without blocking a thread. */
    public final <R> CompletableFuture<R> acquireAsync(WaitLimit limit, AcquireFuture<LockHandle, R> future) {
        return takeAsync(this, limit, future);
    }

    @Override
    public final long fencingToken() {
        return held().token;
    }

    /** Describes the lock: its name, whether it is held, and the token. Sends no request. */
    @Override
    public String toString() {
        return describe("LockHandle");
    }
}
