package io.github.redislocks.torture;

import java.util.List;

/** The kinds of harm, and what must hold under each with the default settings and a lease of 3 s. */
enum Fault {
    NOTHING(1_000, 500, Trait.QUIET),
    /** kill -9 of a worker, whatever it holds and waits for, and another in its place. */
    KILL_WORKER(Bounds.CLAIM_AND_HEARTBEAT, Bounds.CLAIM_AND_HEARTBEAT),
    /** A worker stands still for longer than its lease. */
    PAUSE_WORKER(Bounds.CLAIM_AND_HEARTBEAT, Bounds.CLAIM_AND_HEARTBEAT),
    /** The server stands still for 1 to 5 s, and then runs what has arrived meanwhile. */
    PAUSE_SERVER(1_000, Bounds.NONE),
    DEBUG_SLEEP(1_000, Bounds.NONE),
    KILL_NORMAL(1_000, 500),
    KILL_PUBSUB(1_000, 500),
    KILL_ALL(1_000, 500),
    SCRIPT_FLUSH(1_000, 100, Trait.QUIET);

    /** What else is to be said of a fault. */
    private enum Trait {
        QUIET,
        LOSES_DATA,
        PROXIED
    }

    private static final class Bounds {
        static final int CLAIM_AND_HEARTBEAT = 4_000;
        static final int NONE = Integer.MAX_VALUE;
    }

    /** From the end of the fault until every thread has been served. */
    final int recoveryMillis;
    /** The longest that a free lock may be idle while somebody waits. */
    final int idleMillis;

    /** Nobody gets an exception. */
    final boolean isQuiet;
    /** The server forgets holds that it has granted. */
    final boolean losesData;
    /** Clients go through a proxy. */
    final boolean isProxied;

    Fault(int recoveryMillis, int idleMillis, Trait... traits) {
        this.recoveryMillis = recoveryMillis;
        this.idleMillis = idleMillis;
        List<Trait> all = List.of(traits);
        this.isQuiet = all.contains(Trait.QUIET);
        this.losesData = all.contains(Trait.LOSES_DATA);
        this.isProxied = all.contains(Trait.PROXIED);
    }
}
