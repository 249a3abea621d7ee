/** Locks for ShedLock. */
module io.github.redislocks.shedlock {
    requires transitive io.github.redislocks;
    requires transitive net.javacrumbs.shedlock.core;

    exports io.github.redislocks.shedlock;
}
