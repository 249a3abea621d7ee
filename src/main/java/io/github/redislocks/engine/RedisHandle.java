package io.github.redislocks.engine;

import io.github.redislocks.Handle;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.work.EarlyNews;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** The common part of the handles of one lock and of several: an owner, the news of a loss, and one end. */
abstract class RedisHandle implements Handle, EarlyNews {

    final LockClient client;
    private final LossNews news = new LossNews();
    private final HandleOwner owner;
    private final AtomicBoolean ended = new AtomicBoolean();

    RedisHandle(LockClient client) {
        this.client = client;
        // The owner refers to this handle weakly, so that the client notices when nobody has the handle any more.
        this.owner = client.owners.handle(this, news.first::complete);
    }

    /** Whether all that the handle has can be relied upon now. */
    abstract boolean isValid();

    /** Until when all can be relied upon, from now; 0 if something cannot. */
    abstract long remainingNanos();

    /**
     * Releases all; called once.
     *
     * @param keptMillis how long after its acquisition the lock stays taken; 0 if not at all
     * @throws LockLostException if something was lost
     */
    abstract void end(long keptMillis);

    /** Checks a time that the locks are to stay taken after their release, and returns it in milliseconds. */
    abstract long checkKept(Duration sinceAcquired);

    /** As {@link #end}, without waiting; onEnd: called with whether all was released and nothing lost. */
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
        // Check the stack before `ended` is set: an error after that would leave a hold that nobody can release.
        StackSpace.ensure();
        if (ended.compareAndSet(false, true)) {
            endLater(keptMillis, released::complete);
        } else {
            released.complete(false);
        }
        return stage;
    }
}
