package io.github.redislocks.handles;

import io.github.redislocks.Handle;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.engine.AsyncAcquisitions;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.PermitPool;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The handle of one possession. Thread-safe. */
abstract class RedisSingleHandle extends RedisHandle {

    private final Sync sync;
    /** Null until the lock is acquired. Before that, only the acquiring call has this handle. */
    private volatile @Nullable Held held;

    RedisSingleHandle(LockClient client, Sync sync) {
        super(client);
        this.sync = sync;
    }

    /** Makes the handle of some permits. */
    RedisSingleHandle(LockClient client, PermitPool pool, int wanted) {
        super(client, pool, wanted);
        this.sync = client.permits(pool);
    }

    public final Sync sync() {
        return sync;
    }

    /** Acquires the lock; the calling thread waits. Returns false if the lock was busy. */
    final boolean take(WaitLimit limit) throws InterruptedException {
        held = sync.acquire(handleOwner(), limit);
        return held != null;
    }

    /**
     * Acquires the lock without blocking a thread.
     *
     * @param self this handle
     */
    final <H extends Handle, R> CompletableFuture<R> takeAsync(H self, WaitLimit limit, AcquireFuture<H, R> future) {
        BooleanSupplier grant = future.grantOf(self);
        Held here = sync.enterHere(handleOwner());
        if (here != null) {
            acquired(here, grant);
            return future;
        }
        AsyncAcquisitions.Pending pending =
                client.async.begin(sync, handleOwner(), limit, new AsyncAcquisitions.Caller() {
                    @Override
                    public void acquired(Held acquired) {
                        RedisSingleHandle.this.acquired(acquired, grant);
                    }

                    @Override
                    public void busy() {
                        future.busy();
                    }

                    @Override
                    public void failed(Throwable failure) {
                        future.failed(failure);
                    }
                });
        // If the user completes the future, the lock is no longer wanted: cancel the acquisition.
        future.onEnd(pending.cancellation);
        return future;
    }

    private void acquired(Held acquired, BooleanSupplier grant) {
        held = acquired;
        if (!grant.getAsBoolean()) {
            endLater(0, released -> {});
        }
    }

    private Held acquired() {
        return Objects.requireNonNull(held, "held");
    }

    @Override
    final boolean isValid() {
        return sync.isValid(acquired());
    }

    @Override
    final long remainingNanos() {
        return sync.remainingNanos(acquired());
    }

    @Override
    final void end(long keptMillis) {
        sync.releaseHandle(acquired(), keptMillis);
    }

    @Override
    long checkKept(Duration sinceAcquired) {
        return sync.checkKept(sinceAcquired);
    }

    @Override
    final void endLater(long keptMillis, Consumer<Boolean> onEnd) {
        sync.releaseHandleLater(acquired(), keptMillis, onEnd);
    }

    /** The possession if it is valid; throws otherwise. */
    final Held held() {
        Held present = acquired();
        boolean valid = sync.isValid(present);
        if (!valid && present.lossReason() != null) {
            throw Losses.exception(present);
        }
        if (!valid || isEnded()) {
            // A possession that is neither valid nor lost is being released by another thread.
            throw over();
        }
        return present;
    }

    public String name() {
        return sync.keys().name();
    }

    @Override
    public final void ensureHeld() {
        held();
    }

    @Override
    public final boolean previousHolderLost() {
        return held().previousLost;
    }

    final String describe() {
        String state = isEnded()
                ? "released"
                : isValid() ? "held" : "lost: " + acquired().lossReason();
        return handleOwner().description() + ", token " + acquired().token + ", " + state;
    }

    /** Describes the handle: the kind, the name, whether the lock is held, and the token. Sends no request. */
    final String describe(String kind) {
        return kind + ' ' + Shown.of(name()) + '[' + describe() + ']';
    }
}
