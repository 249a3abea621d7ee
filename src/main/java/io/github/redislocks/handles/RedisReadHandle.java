package io.github.redislocks.handles;

import io.github.redislocks.ReadHandle;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.state.WaitLimit;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** The handle of a read lock. Thread-safe. */
public final class RedisReadHandle extends RedisSingleHandle implements ReadHandle {

    public RedisReadHandle(LockClient client, Sync sync) {
        super(client, sync);
    }

    /** Acquires the read lock; the calling thread waits. The result is empty if the lock was busy. */
    public Optional<ReadHandle> acquire(WaitLimit limit) throws InterruptedException {
        return take(limit) ? Optional.of(this) : Optional.empty();
    }

    /** Acquires the read lock without blocking a thread. */
    public <R> CompletableFuture<R> acquireAsync(WaitLimit limit, AcquireFuture<ReadHandle, R> future) {
        return takeAsync(this, limit, future);
    }

    @Override
    public long version() {
        return held().token;
    }

    /** Describes the read lock: its name, whether it is held, and the version. Sends no request. */
    @Override
    public String toString() {
        return describe("ReadHandle");
    }
}
