package io.github.redislocks.engine;

import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;

/** The keys and the settings of one lock object. */
public abstract class LockObject {

    final LockKeys keys;
    final boolean fair;
    final Settings own;
    /**
     * Whether others wanted the lock when Redis was last asked: a guess, by which the script to try first is chosen.
     */
    boolean crowded;

    LockObject(LockKeys keys, boolean fair, Settings own) {
        this.keys = keys;
        this.fair = fair;
        this.own = own;
    }
}
