package io.github.redislocks.handles;

import io.github.redislocks.Handle;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.actions.EarlyNews;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.PermitPool;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * The common part of the handles of one lock and of several locks: the owner, the stages that complete with a loss, and
 * the release, of which only the first call counts.
 */
abstract class RedisHandle implements Handle, EarlyNews {

    final LockClient client;
    private final LossNews news = new LossNews();
    private final HandleOwner owner;
    private final AtomicBoolean ended = new AtomicBoolean();

    RedisHandle(LockClient client) {
        this.client = client;
        // The owner has only a weak reference to this handle, so that the client notices when the user has dropped the
        // handle.
        this.owner = client.owners.handle(this, news.first::complete);
    }

    /** Makes the handle of some permits. */
    RedisHandle(LockClient client, PermitPool pool, int wanted) {
        this.client = client;
        this.owner = client.owners.permits(this, news.first::complete, pool, wanted);
    }

    /** Whether all holds of the handle are valid now. */
    abstract boolean isValid();

    /** The time for which all holds stay valid without a renewal; 0 if one is invalid. */
    abstract long remainingNanos();

    /**
     * Releases all holds. Called at most once.
     *
     * @param keptMillis for how long, counted from its acquisition, each lock stays taken; 0 to free the locks at once
     * @throws LockLostException if a hold was lost
     */
    abstract void end(long keptMillis);

    /** Checks the time for which the locks stay taken, counted from their acquisition; returns it in milliseconds. */
    abstract long checkKept(Duration sinceAcquired);

    /**
     * Releases all holds as {@link #end} does, but without waiting.
     *
     * @param onEnd called with true if all holds were released and none was lost
     */
    abstract void endLater(long keptMillis, Consumer<Boolean> onEnd);

    public final HandleOwner handleOwner() {
        return owner;
    }

    @Override
    public final String owner() {
        return owner.id;
    }

    final boolean isEnded() {
        return ended.get();
    }

    final IllegalMonitorStateException over() {
        return new IllegalMonitorStateException(this + ": a handle is for one possession, so acquire another.");
    }

    @Override
    public final boolean isHeld() {
        return !isEnded() && isValid();
    }

    @Override
    public final Duration remainingLease() {
        return isEnded() ? Duration.ZERO : Duration.ofNanos(remainingNanos());
    }

    @Override
    public final CompletionStage<LockLost> lost() {
        return news.forUsers(client);
    }

    @Override
    public final CompletionStage<LockLost> firstNews() {
        client.listen();
        return news.first;
    }

    @Override
    public final void close() {
        StackSpace.ensure();
        if (ended.compareAndSet(false, true)) {
            end(0);
        }
    }

    @Override
    public final boolean release() {
        return release(0);
    }

    @Override
    public final boolean releaseAfter(Duration sinceAcquired) {
        return release(checkKept(sinceAcquired));
    }

    private boolean release(long keptMillis) {
        StackSpace.ensure();
        if (!ended.compareAndSet(false, true)) {
            return false;
        }
        try {
            end(keptMillis);
            return true;
        } catch (LockLostException e) {
            return false;
        }
    }

    @Override
    public final CompletionStage<Boolean> releaseAsync() {
        return releaseAsync(0);
    }

    @Override
    public final CompletionStage<Boolean> releaseAfterAsync(Duration sinceAcquired) {
        return releaseAsync(checkKept(sinceAcquired));
    }

    private CompletionStage<Boolean> releaseAsync(long keptMillis) {
        CompletableFuture<Boolean> released = new CompletableFuture<>();
        CompletionStage<Boolean> stage = released.minimalCompletionStage();
        // Check the stack before `ended` is set: after a StackOverflowError nobody could release the hold.
        StackSpace.ensure();
        if (ended.compareAndSet(false, true)) {
            endLater(keptMillis, released::complete);
        } else {
            released.complete(false);
        }
        return stage;
    }
}
