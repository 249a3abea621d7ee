package io.github.redislocks.engine;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Owners;
import io.github.redislocks.waiting.Acquisitions;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.watchdog.Watchdog;

/**
 * Acquires, re-enters and releases locks, and notices their loss; written once for every kind of lock.
 *
 * <p><b>Overview.</b> This class and {@link Hold} decide what a thread holds, not Redis: a hold is valid until its
 * local deadline, which is always before the moment at which Redis may give the lock away. The invariants:
 *
 * <ul>
 *   <li>The deadline of every success counts from before its request was sent. A reply that comes after that deadline
 *       is no success.
 *   <li>A hold ends once, by the compare-and-set of its release or of its loss. Only the thread whose compare-and-set
 *       succeeds acts on the end: it passes on the local turn and notifies the listeners.
 *   <li>The local turn belongs to one attempt, from when the attempt gets it to the end of its hold.
 *   <li>A command that was not answered is either repeated for the same attempt, or followed by a leave.
 * </ul>
 */
public final class LockEngine {

    public final Entries entries;
    final AttemptLoop attempts;
    public final Exits exits;

    public final Owners owners;
    public final Handoff handoff;
    public final Watchdog watchdog;
    private final RedisAccess access;
    private final Losses losses;

    public LockEngine(
            RedisAccess access, WaitingParts parts, Owners owners, Acquisitions acquisitions, EventNotifier events) {
        this.access = access;
        this.losses = parts.losses();
        this.owners = owners;
        this.handoff = parts.handoff();
        this.watchdog = parts.watchdog();
        this.exits = new Exits(access, parts, acquisitions, events);
        this.attempts = new AttemptLoop(access, parts, acquisitions);
        this.entries = new Entries(access, parts, owners, attempts, events);
    }

    boolean isValid(Hold hold) {
        return losses.isValid(hold);
    }

    public Clock clock() {
        return access.clock();
    }

    public long commandTimeoutNanos() {
        return access.settings().commandTimeoutNanos();
    }

    boolean hasLines() {
        return access.redis().hasLines();
    }

    /** For how long a master of a quorum gives no votes after a restart. */
    long memoryMillis() {
        return access.redis().memoryMillis();
    }

    /** Throws if the waiters of a lock are not in one queue, as in a quorum; {@code what} needs that queue. */
    public void checkLines(String what) {
        if (!hasLines()) {
            throw new UnsupportedOperationException(
                    "A quorum offers no " + what + ": they need one queue of all waiters, and"
                            + " each master of a quorum has a queue of its own. Use a single server, Sentinel or"
                            + " a cluster for them.");
        }
    }
}
