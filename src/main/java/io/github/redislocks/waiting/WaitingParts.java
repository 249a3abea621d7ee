package io.github.redislocks.waiting;

import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Holds;
import io.github.redislocks.watchdog.Watchdog;

/**
 * The parts of a client through which a thread comes to a lock and gives it on.
 *
 * @param holds the holds of this client
 * @param attempts the calls under way
 * @param localQueue those that wait behind one of this client
 * @param mailbox receives the grants
 * @param handoff passes the turn on, and leaves
 * @param settlements makes a grant a hold
 * @param losses tells of holds that were lost
 * @param watchdog repeats what a caller left behind
 */
public record WaitingParts(
        Holds holds,
        Attempts attempts,
        LocalQueue localQueue,
        Mailbox mailbox,
        Handoff handoff,
        Settlements settlements,
        Losses losses,
        Watchdog watchdog) {}
