package io.github.redislocks.engine;

import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;

/** The keys and the settings of one lock object. */
public abstract class LockObject {

    final LockKeys keys;
    final boolean fair;
    final Settings own;
    /** The request of each acquisition by this lock object. */
    final Attempt.Request request;
    /** Whether others wanted the lock when Redis was last asked. This guess decides which script is tried first. */
    boolean crowded;

    LockObject(LockKeys keys, boolean fair, Settings own) {
        this.keys = keys;
        this.fair = fair;
        this.own = own;
        this.request = new Attempt.Request(own.leaseMillis(), own.isRenewed(), fair, own.maxHoldMillis());
    }
}
