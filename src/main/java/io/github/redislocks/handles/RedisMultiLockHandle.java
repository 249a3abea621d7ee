package io.github.redislocks.handles;

import io.github.redislocks.MultiLockHandle;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.several.SeveralLocks;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** The handle of several locks. Thread-safe. */
public final class RedisMultiLockHandle extends RedisHandle implements MultiLockHandle {

    private final SeveralLocks several;
    /** Empty until the locks are acquired. Before that, only the acquiring call has this handle. */
    private volatile Held[] holds = {};

    public RedisMultiLockHandle(LockClient client, SeveralLocks several) {
        super(client);
        this.several = several;
    }

    /**
     * Acquires the locks; the calling thread waits. The result is empty if a lock was busy. If a lock is lost during
     * the wait, the method tries again with a new handle, since the old one has reported the loss.
     */
    public static Optional<MultiLockHandle> acquire(LockClient client, SeveralLocks several, WaitLimit limit)
            throws InterruptedException {
        while (true) {
            RedisMultiLockHandle handle = new RedisMultiLockHandle(client, several);
            Held[] held = several.acquire(handle.handleOwner(), limit);
            if (held == null) {
                return Optional.empty();
            }
            if (held.length > 0) {
                return Optional.of(handle.of(held));
            }
        }
    }

    /** Gives the handle the locks. */
    RedisMultiLockHandle of(Held[] acquired) {
        holds = acquired;
        return this;
    }

    @Override
    boolean isValid() {
        return several.areHeld(holds);
    }

    @Override
    long remainingNanos() {
        return several.remainingNanos(holds);
    }

    @Override
    void end(long keptMillis) {
        several.release(holds, keptMillis);
    }

    @Override
    long checkKept(Duration sinceAcquired) {
        return several.parts().get(0).checkKept(sinceAcquired);
    }

    @Override
    void endLater(long keptMillis, Consumer<Boolean> onEnd) {
        several.releaseLater(holds, keptMillis, onEnd);
    }

    @Override
    public List<String> names() {
        return several.names();
    }

    @Override
    public long fencingToken(String name) {
        int index = several.indexOf(name);
        ensureHeld();
        return holds[index].token;
    }

    @Override
    public void ensureHeld() {
        // Check the holds before isEnded(), so that a loss is reported even after the release.
        if (!several.ensureHeld(holds) || isEnded()) {
            throw over();
        }
    }

    @Override
    public boolean previousHolderLost() {
        ensureHeld();
        for (Held held : holds) {
            if (held.previousLost) {
                return true;
            }
        }
        return false;
    }

    /** Describes the locks: their names, and whether they are held. Sends no request. */
    @Override
    public String toString() {
        String state = isEnded() ? "released" : isValid() ? "held" : "lost";
        return "MultiLockHandle " + Shown.of(names().toString()) + '['
                + handleOwner().description() + ", " + state + ']';
    }
}
