package io.github.redislocks.engine;

import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;

/** Which lock it is, and how one object of it is to be acquired. */
abstract class LockObject {

    final LockKeys keys;
    final boolean fair;
    final Settings own;
    /**
     * Whether others wanted the lock the last time that Redis was asked; a guess that chooses which script to try
     * first.
     */
    boolean crowded;

    LockObject(LockKeys keys, boolean fair, Settings own) {
        this.keys = keys;
        this.fair = fair;
        this.own = own;
    }
}
