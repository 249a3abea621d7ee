package io.github.redislocks.torture;

import java.util.List;

/** The kinds of harm, and what must hold under each with the default settings and a lease of 3 s. */
enum Fault {
    NOTHING(1_000, 500, Trait.QUIET),
    /** kill -9 of a worker, whatever it holds and waits for, and another in its place. */
    KILL_WORKER(Bounds.CLAIM_AND_HEARTBEAT, Bounds.CLAIM_AND_HEARTBEAT, Trait.KEEPS_HOLDS),
    /** A worker stands still for longer than its lease. */
    PAUSE_WORKER(Bounds.CLAIM_AND_HEARTBEAT, Bounds.CLAIM_AND_HEARTBEAT),
    /** The server stands still for 1 to 5 s, and then runs what has arrived meanwhile. */
    PAUSE_SERVER(1_000, Bounds.NONE),
    DEBUG_SLEEP(1_000, Bounds.NONE, Trait.KEEPS_HOLDS),
    KILL_NORMAL(1_000, 500, Trait.KEEPS_HOLDS),
    KILL_PUBSUB(1_000, 500, Trait.KEEPS_HOLDS),
    KILL_ALL(1_000, 500, Trait.KEEPS_HOLDS),
    SCRIPT_FLUSH(1_000, 100, Trait.QUIET, Trait.KEEPS_HOLDS),
    /** kill -9 of a server that writes each command to disk before it answers. */
    RESTART_WITH_DATA(2_000, Bounds.NONE, Trait.KEEPS_HOLDS),
    RESTART_WITHOUT_DATA(2_000, Bounds.NONE, Trait.LOSES_DATA),
    FLUSHALL(2_000, Bounds.NONE, Trait.LOSES_DATA),
    /** A replica that knows everything takes over. */
    PROMOTE_CURRENT(2_000, Bounds.NONE, Trait.PROXIED, Trait.KEEPS_HOLDS),
    /** A replica takes over that knows nothing of the last moments: of new holds, nor of the ends of old ones. */
    PROMOTE_LAGGING(Bounds.LEASE_CLAIM_AND_HEARTBEAT, Bounds.NONE, Trait.PROXIED, Trait.LOSES_DATA),
    /** Replies of a moment get lost, and all later ones of the connections that were hit. */
    LOSE_REPLIES(Bounds.DEAF_MAILBOX, Bounds.NONE, Trait.PROXIED),
    LOSE_REQUESTS(Bounds.DEAF_MAILBOX, Bounds.NONE, Trait.PROXIED),
    /** A direction is dead for longer than any command waits. */
    ONE_WAY(Bounds.DEAF_MAILBOX, Bounds.NONE, Trait.PROXIED),
    /** Replies come in bursts. */
    DELAY(1_000, Bounds.NONE, Trait.PROXIED, Trait.KEEPS_HOLDS),
    /** Requests arrive when their senders have given up and closed their connections. */
    LATE_REQUESTS(1_000, Bounds.NONE, Trait.PROXIED),
    /** Connections are cut, and new ones refused for a time. */
    CUT(1_000, Bounds.NONE, Trait.PROXIED, Trait.KEEPS_HOLDS),
    /** A single connection for all threads of a worker, and a server that is slow besides. */
    NARROW_POOL(1_000, Bounds.NONE, Trait.KEEPS_HOLDS),
    /** The server refuses what needs memory, but not to renew and release. */
    MEMORY_FULL(1_000, Bounds.NONE, Trait.KEEPS_HOLDS),
    /** The user may not publish any more: waiters find their grants by heartbeats. */
    NO_PUBLISH(1_000, 1_200, Trait.KEEPS_HOLDS, Trait.TELLS_NOBODY);

    private enum Trait {
        QUIET,
        KEEPS_HOLDS,
        LOSES_DATA,
        TELLS_NOBODY,
        PROXIED
    }

    /** In ms. */
    static final class Bounds {
        /** The row of the fault does not say. */
        static final int NONE = Integer.MAX_VALUE;

        static final int CLAIM_AND_HEARTBEAT = 4_000;
        static final int LEASE_CLAIM_AND_HEARTBEAT = 7_200;
        /** A heartbeat that pings, the time of a command, and the next heartbeat, which sees that nothing came back. */
        static final int DEAF_MAILBOX = 3_200;
    }

    /** From the end of the fault until every thread has been served. */
    final int recoveryMillis;
    /** The longest that a free lock may be idle while somebody waits. */
    final int idleMillis;

    /** Nobody gets an exception. */
    final boolean isQuiet;
    /** Nobody loses a hold. */
    final boolean keepsHolds;
    /** The server forgets holds that it has granted. */
    final boolean losesData;
    /** Nobody hears of a grant: who gives up hands on one that he may have had, and a new heartbeat must find it. */
    final boolean tellsNobody;
    /** Clients go through a proxy. */
    final boolean isProxied;

    Fault(int recoveryMillis, int idleMillis, Trait... traits) {
        this.recoveryMillis = recoveryMillis;
        this.idleMillis = idleMillis;
        List<Trait> all = List.of(traits);
        this.isQuiet = all.contains(Trait.QUIET);
        this.keepsHolds = all.contains(Trait.KEEPS_HOLDS);
        this.losesData = all.contains(Trait.LOSES_DATA);
        this.tellsNobody = all.contains(Trait.TELLS_NOBODY);
        this.isProxied = all.contains(Trait.PROXIED);
    }
}
