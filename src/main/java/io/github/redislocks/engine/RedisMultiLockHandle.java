package io.github.redislocks.engine;

import io.github.redislocks.MultiLockHandle;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.state.Held;
import java.util.List;
import java.util.function.Consumer;

/** The handle of several locks. Thread-safe. */
public final class RedisMultiLockHandle extends RedisHandle implements MultiLockHandle {

    private final SeveralLocks several;
    /** None until they are acquired, which is before anybody else has this. */
    private volatile Held[] holds = {};

    public RedisMultiLockHandle(LockClient client, SeveralLocks several) {
        super(client);
        this.several = several;
    }

    /** The handle has the locks from now on. */
    public RedisMultiLockHandle of(Held[] acquired) {
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
        several.release(holds);
    }

    @Override
    void endLater(long keptMillis, Consumer<Boolean> onEnd) {
        several.releaseLater(holds, onEnd);
    }

    @Override
    public List<String> names() {
        return several.names();
    }

    @Override
    public long fencingToken(String name) {
        int index = several.indexOf(name);
        ensureHeld();
        return holds[index].token();
    }

    @Override
    public void ensureHeld() {
        if (isEnded() || !several.ensureHeld(holds)) {
            throw over();
        }
    }

    @Override
    public boolean previousHolderLost() {
        ensureHeld();
        for (Held held : holds) {
            if (held.previousLost()) {
                return true;
            }
        }
        return false;
    }

    /** Names the locks, and whether they are held. Asks no server. */
    @Override
    public String toString() {
        String state = isEnded() ? "released" : isValid() ? "held" : "lost";
        return "MultiLockHandle " + Shown.of(names().toString()) + '['
                + handleOwner().description() + ", " + state + ']';
    }
}
