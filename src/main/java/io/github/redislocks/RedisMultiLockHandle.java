package io.github.redislocks;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.engine.LockClient;
import io.github.redislocks.engine.LossNews;
import io.github.redislocks.engine.SeveralLocks;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * The handle of several locks on Redis; {@link RedisLocks#acquireAll} makes it. Thread-safe.
 *
 * @since 0.1.0
 */
public final class RedisMultiLockHandle implements MultiLockHandle {

    private final LockClient client;
    private final SeveralLocks several;
    private final List<String> names;
    private final LossNews news = new LossNews();
    private final HandleOwner owner;
    private final AtomicBoolean ended = new AtomicBoolean();
    /** None until they are acquired, which is before anybody else has this. */
    private volatile Hold[] holds = {};

    RedisMultiLockHandle(LockClient client, SeveralLocks several) {
        this.client = client;
        this.several = several;
        this.names = RedisMultiLock.namesOf(several);
        // The library refers to this weakly, to see whether anybody still has it.
        this.owner = client.owners.handle(this, news.first::complete);
    }

    HandleOwner handleOwner() {
        return owner;
    }

    /** It has the locks from now on. */
    RedisMultiLockHandle of(Hold[] acquired) {
        holds = acquired;
        return this;
    }

    @Override
    public List<String> names() {
        return names;
    }

    @Override
    public String owner() {
        return owner.id;
    }

    @Override
    public long fencingToken(String name) {
        int index = RedisMultiLock.indexOf(names, name);
        ensureHeld();
        return holds[index].token;
    }

    @Override
    public boolean isHeld() {
        return !ended.get() && several.areHeld(holds);
    }

    @Override
    public void ensureHeld() {
        if (ended.get() || !several.ensureHeld(holds)) {
            throw new IllegalMonitorStateException(this + ": a handle is for one possession, so acquire another.");
        }
    }

    @Override
    public Duration remainingLease() {
        return ended.get() ? Duration.ZERO : Duration.ofNanos(several.remainingNanos(holds));
    }

    @Override
    public boolean previousHolderLost() {
        ensureHeld();
        for (Hold hold : holds) {
            if (hold.previousLost) {
                return true;
            }
        }
        return false;
    }

    @Override
    public CompletionStage<LockLost> lost() {
        return news.forUsers(client);
    }

    @Override
    public void close() {
        StackSpace.ensure();
        if (ended.compareAndSet(false, true)) {
            several.release(holds);
        }
    }

    @Override
    public boolean release() {
        StackSpace.ensure();
        if (!ended.compareAndSet(false, true)) {
            return false;
        }
        try {
            several.release(holds);
            return true;
        } catch (LockLostException e) {
            return false;
        }
    }

    @Override
    public CompletionStage<Boolean> releaseAsync() {
        CompletableFuture<Boolean> released = new CompletableFuture<>();
        CompletionStage<Boolean> stage = released.minimalCompletionStage();
        Consumer<Boolean> onEnd = new Consumer<>() {
            @Override
            public void accept(Boolean inGoodOrder) {
                released.complete(inGoodOrder);
            }
        };
        // From here on an error would leave holds that nobody can end: the engine is told of the end, or strands them.
        StackSpace.ensure();
        if (ended.compareAndSet(false, true)) {
            several.releaseLater(holds, onEnd);
        } else {
            released.complete(false);
        }
        return stage;
    }

    /** Names the locks, and whether they are held. Asks no server. */
    @Override
    public String toString() {
        String state = ended.get() ? "released" : several.areHeld(holds) ? "held" : "lost";
        return "MultiLockHandle " + Shown.of(names.toString()) + '[' + owner.description() + ", " + state + ']';
    }
}
