package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.handles.AcquireFuture;
import io.github.redislocks.handles.RedisPermitHandle;
import io.github.redislocks.state.PermitPool;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * The {@link Permits} of a {@link RedisLocks}, as {@link RedisLocks#permits} returns them.
 *
 * @since 0.1.0
 */
public final class RedisPermits implements Permits {

    private final LockClient client;
    private final PermitPool pool;

    RedisPermits(LockClient client, PermitPool pool) {
        this.client = client;
        this.pool = pool;
    }

    @Override
    public String name() {
        return pool.name();
    }

    @Override
    public PermitHandle acquire(int count) throws InterruptedException {
        return handle(count)
                .acquirePermits(WaitLimit.interruptible(client.settings.retryForNanos()))
                .orElseThrow();
    }

    @Override
    public Optional<PermitHandle> tryAcquire(int count, Duration wait) throws InterruptedException {
        RedisPermitHandle handle = handle(count);
        return handle.acquirePermits(limit(handle, wait));
    }

    @Override
    public CompletableFuture<PermitHandle> acquireAsync(int count) {
        AcquireFuture<LockHandle, PermitHandle> future = new AcquireFuture<>(PermitHandle.class::cast, null);
        return handle(count).acquireAsync(WaitLimit.endless(client.settings.retryForNanos()), future);
    }

    @Override
    public CompletableFuture<Optional<PermitHandle>> tryAcquireAsync(int count, Duration wait) {
        Function<LockHandle, PermitHandle> cast = PermitHandle.class::cast;
        AcquireFuture<LockHandle, Optional<PermitHandle>> future =
                new AcquireFuture<>(cast.andThen(Optional::of), Optional.empty());
        RedisPermitHandle handle = handle(count);
        return handle.acquireAsync(limit(handle, wait), future);
    }

    private RedisPermitHandle handle(int count) {
        if (count < 1 || (pool.isToCheck() && count > pool.size())) {
            throw new IllegalArgumentException("The count is " + count + ": of the permits \"" + Shown.of(pool.name())
                    + "\" a call can acquire between 1 and " + pool.size() + " at once.");
        }
        client.attempts.checkOpen();
        return new RedisPermitHandle(client, pool, count);
    }

    private static WaitLimit limit(RedisPermitHandle handle, Duration wait) {
        return handle.sync().limit(TimeUnit.NANOSECONDS.convert(Objects.requireNonNull(wait, "wait")));
    }

    @Override
    public PermitsInspection inspect() {
        return client.queries().inspect(pool);
    }

    @Override
    public int resize(int size) {
        return client.queries().resize(pool, PermitPool.checkSize(pool.name(), size));
    }

    @Override
    public String toString() {
        return "Permits " + Shown.of(pool.name()) + '[' + pool.size() + ']';
    }
}
