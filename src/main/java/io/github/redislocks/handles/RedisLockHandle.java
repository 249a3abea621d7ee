package io.github.redislocks.handles;

import io.github.redislocks.LockHandle;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.engine.AsyncAcquisitions;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.PermitPool;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The handle of one lock. Thread-safe. */
public class RedisLockHandle extends RedisHandle implements LockHandle {

    private final Sync sync;
    /** Null until the lock is acquired. Before that, only the acquiring call has this handle. */
    private volatile @Nullable Hold hold;

    public RedisLockHandle(LockClient client, Sync sync) {
        super(client);
        this.sync = sync;
    }

    /** Makes the handle of some permits. */
    RedisLockHandle(LockClient client, PermitPool pool, int wanted) {
        super(client, pool, wanted);
        this.sync = client.permits(pool);
    }

    public Sync sync() {
        return sync;
    }

    /** Acquires the lock; the calling thread waits. The result is empty if the lock was busy. */
    public Optional<LockHandle> acquire(WaitLimit limit) throws InterruptedException {
        hold = sync.acquire(handleOwner(), limit);
        return hold == null ? Optional.empty() : Optional.of(this);
    }

    /** Acquires the lock without blocking a thread. */
    public <R> CompletableFuture<R> acquireAsync(WaitLimit limit, AcquireFuture<LockHandle, R> future) {
        BooleanSupplier grant = future.grantOf(this);
        AsyncAcquisitions.Pending pending =
                client.async.begin(sync.keys(), handleOwner(), sync.request(), limit, new AsyncAcquisitions.Caller() {
                    @Override
                    public void acquired(Hold acquired) {
                        hold = acquired;
                        if (!grant.getAsBoolean()) {
                            endLater(0, released -> {});
                        }
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

    private Hold hold() {
        return Objects.requireNonNull(hold, "hold");
    }

    @Override
    boolean isValid() {
        return sync.isValid(hold());
    }

    @Override
    long remainingNanos() {
        return sync.remainingNanos(hold());
    }

    @Override
    void end(long keptMillis) {
        sync.releaseHandle(hold(), keptMillis);
    }

    @Override
    long checkKept(Duration sinceAcquired) {
        return sync.checkKept(sinceAcquired);
    }

    @Override
    void endLater(long keptMillis, Consumer<Boolean> onEnd) {
        sync.releaseHandleLater(hold(), keptMillis, onEnd);
    }

    /** The hold if it is valid; throws otherwise. */
    private Hold held() {
        Hold held = hold();
        boolean valid = sync.isValid(held);
        if (!valid && held.lossReason() != null) {
            throw Losses.exception(held);
        }
        if (!valid || isEnded()) {
            // A hold that is neither valid nor lost is being released by another thread.
            throw over();
        }
        return held;
    }

    @Override
    public String name() {
        return sync.keys().name();
    }

    @Override
    public long fencingToken() {
        return held().token;
    }

    @Override
    public void ensureHeld() {
        held();
    }

    @Override
    public boolean previousHolderLost() {
        return held().previousLost;
    }

    /** Describes the lock: its name, whether it is held, and the token. Sends no request. */
    @Override
    public String toString() {
        return "LockHandle " + Shown.of(name()) + '[' + describe() + ']';
    }

    final String describe() {
        String state = isEnded() ? "released" : isValid() ? "held" : "lost: " + hold().lossReason();
        return handleOwner().description() + ", token " + hold().token + ", " + state;
    }
}
