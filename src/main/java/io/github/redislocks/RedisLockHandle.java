package io.github.redislocks;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.engine.LockClient;
import io.github.redislocks.engine.LossNews;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The handle of a lock on Redis; {@link RedisLocks#acquire} makes it. Thread-safe.
 *
 * @since 0.1.0
 */
public final class RedisLockHandle implements LockHandle {

    private final LockClient client;
    private final Sync sync;
    private final LossNews news = new LossNews();
    private final HandleOwner owner;
    private final AtomicBoolean ended = new AtomicBoolean();
    /** Null until it is acquired, which is before anybody else has it. */
    private volatile @Nullable Hold hold;

    RedisLockHandle(LockClient client, Sync sync) {
        this.client = client;
        this.sync = sync;
        // The library refers to this weakly, to see whether anybody still has it.
        this.owner = client.owners.handle(this, news.first::complete);
    }

    Sync sync() {
        return sync;
    }

    HandleOwner handleOwner() {
        return owner;
    }

    /** It has the lock from now on. */
    RedisLockHandle of(Hold acquired) {
        hold = acquired;
        return this;
    }

    private Hold hold() {
        return Objects.requireNonNull(hold, "hold");
    }

    /** Its hold, if it can be relied upon. */
    private Hold held() {
        Hold held = hold();
        boolean valid = sync.isValid(held);
        if (!valid && held.lossReason() != null) {
            throw Losses.exception(held);
        }
        if (!valid || ended.get()) {
            // Released, also if another thread does so at this moment.
            throw new IllegalMonitorStateException(this + ": a handle is for one possession, so acquire another.");
        }
        return held;
    }

    @Override
    public String name() {
        return sync.keys().name();
    }

    @Override
    public String owner() {
        return owner.id;
    }

    @Override
    public long fencingToken() {
        return held().token;
    }

    @Override
    public boolean isHeld() {
        return !ended.get() && sync.isValid(hold());
    }

    @Override
    public void ensureHeld() {
        held();
    }

    @Override
    public Duration remainingLease() {
        return ended.get() ? Duration.ZERO : Duration.ofNanos(sync.remainingNanos(hold()));
    }

    @Override
    public boolean previousHolderLost() {
        return held().previousLost;
    }

    @Override
    public CompletionStage<LockLost> lost() {
        return news.forUsers(client);
    }

    /** The news of the loss of any handle, as early as the library can have it. */
    static CompletionStage<LockLost> firstNews(LockHandle handle) {
        if (!(handle instanceof RedisLockHandle own)) {
            return handle.lost();
        }
        own.client.listen();
        return own.news.first;
    }

    @Override
    public void close() {
        Hold held = hold();
        StackSpace.ensure();
        if (ended.compareAndSet(false, true)) {
            sync.releaseHandle(held, 0);
        }
    }

    @Override
    public boolean release() {
        return release(0);
    }

    @Override
    public CompletionStage<Boolean> releaseAsync() {
        return releaseAsync(0);
    }

    @Override
    public boolean releaseAfter(Duration sinceAcquired) {
        return release(sync.checkKept(sinceAcquired));
    }

    @Override
    public CompletionStage<Boolean> releaseAfterAsync(Duration sinceAcquired) {
        return releaseAsync(sync.checkKept(sinceAcquired));
    }

    private boolean release(long keptMillis) {
        Hold held = hold();
        StackSpace.ensure();
        if (!ended.compareAndSet(false, true)) {
            return false;
        }
        try {
            sync.releaseHandle(held, keptMillis);
            return true;
        } catch (LockLostException e) {
            return false;
        }
    }

    private CompletionStage<Boolean> releaseAsync(long keptMillis) {
        Hold held = hold();
        CompletableFuture<Boolean> released = new CompletableFuture<>();
        CompletionStage<Boolean> stage = released.minimalCompletionStage();
        Consumer<Boolean> onEnd = new Consumer<>() {
            @Override
            public void accept(Boolean inGoodOrder) {
                released.complete(inGoodOrder);
            }
        };
        // From here on an error would leave a hold that nobody can end: the engine is told of the end, or strands it.
        StackSpace.ensure();
        if (ended.compareAndSet(false, true)) {
            sync.releaseHandleLater(held, keptMillis, onEnd);
        } else {
            released.complete(false);
        }
        return stage;
    }

    /** Names the lock, and whether it is held, with which token. Asks no server. */
    @Override
    public String toString() {
        Hold held = hold();
        String state = ended.get() ? "released" : sync.isValid(held) ? "held" : "lost: " + held.lossReason();
        return "LockHandle " + Shown.of(name()) + '[' + owner.description() + ", token " + held.token + ", " + state
                + ']';
    }
}
