package io.github.redislocks.handles;

import io.github.redislocks.MultiLockHandle;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.AsyncAcquisitions;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.several.SeveralLocks;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.WaitLimit;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;

/**
 * An acquisition of several locks for which no thread waits: {@link AsyncAcquisitions} acquires one lock after the
 * other, in the order of their names. Its steps run one after the other, on threads that serve handles.
 */
public final class AsyncSeveral implements AsyncAcquisitions.Caller {

    private final LockClient client;
    private final SeveralLocks several;
    /** The time limit for all locks together. */
    private final WaitLimit limit;

    private final AcquireFuture<MultiLockHandle, ?> future;
    private RedisMultiLockHandle handle;
    /** The action that completes the future with the handle. */
    private BooleanSupplier grant;

    private Held[] had;
    /** How many of the locks have been acquired. */
    private int count;

    /** The acquisitions of the single locks so far. An acquisition that has ended ignores its cancellation. */
    private final Queue<AsyncAcquisitions.Pending> parts = new ConcurrentLinkedQueue<>();

    private volatile boolean cancelled;

    public AsyncSeveral(
            LockClient client, SeveralLocks several, WaitLimit limit, AcquireFuture<MultiLockHandle, ?> future) {
        this.client = client;
        this.several = several;
        this.limit = limit;
        this.future = future;
        this.handle = new RedisMultiLockHandle(client, several);
        this.grant = future.grantOf(handle);
        this.had = new Held[several.parts().size()];
    }

    /** Starts to acquire the first lock; returns at once. */
    public void start() {
        // If the user completes the future, the locks are no longer wanted: cancel the acquisition.
        future.onEnd(this::cancel);
        ask();
    }

    private void cancel() {
        cancelled = true;
        parts.forEach(part -> part.cancellation.run());
    }

    private void ask() {
        Sync part = several.parts().get(count);
        parts.add(client.async.begin(part, handle.handleOwner(), limit, this));
        if (cancelled) {
            cancel();
        }
    }

    @Override
    public void acquired(Held held) {
        try {
            had[count] = held;
            count++;
            if (cancelled) {
                giveBack();
            } else if (count < had.length) {
                ((Hold) held).waitsForOthers();
                if (several.mayAskForNext(limit)) {
                    ask();
                } else {
                    busy();
                }
            } else {
                end();
            }
        } catch (RuntimeException | Error e) {
            cancel();
            failed(e);
            if (e instanceof Error) {
                throw e;
            }
        }
    }

    private void end() {
        several.complete(had, limit);
        if (several.areHeld(had)) {
            handle.of(had);
            if (!grant.getAsBoolean()) {
                giveBack();
            }
            return;
        }
        giveBack();
        if (!several.mayBeginAnew(limit)) {
            future.busy();
            return;
        }
        // A lock was lost while this acquisition waited for the others: start again with all locks.
        handle = new RedisMultiLockHandle(client, several);
        grant = future.grantOf(handle);
        had = new Held[had.length];
        count = 0;
        parts.clear();
        ask();
    }

    @Override
    public void busy() {
        try {
            giveBack();
        } finally {
            future.busy();
        }
    }

    @Override
    public void failed(Throwable failure) {
        try {
            giveBack();
        } finally {
            future.failed(failure);
        }
    }

    private void giveBack() {
        Held[] back = Arrays.copyOf(had, count);
        // Reset the count before the release: if the release meets an error, the watchdog releases the locks, and a
        // second call of this method must not release them.
        count = 0;
        several.releaseLater(back, 0, released -> {});
    }
}
