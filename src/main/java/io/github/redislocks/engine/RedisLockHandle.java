package io.github.redislocks.engine;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Hold;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The handle of one lock. Thread-safe. */
public final class RedisLockHandle extends RedisHandle implements LockHandle {

    private final Sync sync;
    /** Null until it is acquired, which is before anybody else has it. */
    private volatile @Nullable Hold hold;

    public RedisLockHandle(LockClient client, Sync sync) {
        super(client);
        this.sync = sync;
    }

    public Sync sync() {
        return sync;
    }

    /** The handle has the lock from now on. */
    public RedisLockHandle of(Hold acquired) {
        hold = acquired;
        return this;
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
    void endLater(long keptMillis, Consumer<Boolean> onEnd) {
        sync.releaseHandleLater(hold(), keptMillis, onEnd);
    }

    /** The hold, if it can be relied upon. */
    private Hold held() {
        Hold held = hold();
        boolean valid = sync.isValid(held);
        if (!valid && held.lossReason() != null) {
            throw Losses.exception(held);
        }
        if (!valid || isEnded()) {
            // If it is neither valid nor lost, another thread is just releasing it.
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

    /** The news of the loss of any handle, as early as the library can have it. */
    public static CompletionStage<LockLost> firstNews(LockHandle handle) {
        return handle instanceof RedisLockHandle own ? own.firstNews() : handle.lost();
    }

    @Override
    public boolean releaseAfter(Duration sinceAcquired) {
        return release(sync.checkKept(sinceAcquired));
    }

    @Override
    public CompletionStage<Boolean> releaseAfterAsync(Duration sinceAcquired) {
        return releaseAsync(sync.checkKept(sinceAcquired));
    }

    /** Names the lock, and whether it is held, with which token. Asks no server. */
    @Override
    public String toString() {
        String state = isEnded() ? "released" : isValid() ? "held" : "lost: " + hold().lossReason();
        return "LockHandle " + Shown.of(name()) + '[' + handleOwner().description() + ", token " + hold().token + ", "
                + state + ']';
    }
}
