package io.github.redislocks.waiting;

import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Holds;
import io.github.redislocks.watchdog.Watchdog;

/**
 * The parts of a client by which a thread acquires a lock and hands it on.
 *
 * @param holds the holds of this client
 * @param attempts the calls under way
 * @param localQueue the attempts that wait behind another attempt of this client
 * @param mailbox receives the grants
 * @param handoff passes the local turn on, and takes attempts out of Redis
 * @param settlements turns grants into holds
 * @param losses reports holds that were lost
 * @param watchdog repeats commands that were not answered
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
