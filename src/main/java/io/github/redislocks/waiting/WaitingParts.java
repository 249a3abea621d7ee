package io.github.redislocks.waiting;

import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Holds;
import io.github.redislocks.watchdog.Watchdog;

/** The parts of a client by which a thread acquires a lock and hands it on. */
public record WaitingParts(
        Holds holds,
        Attempts attempts,
        LocalQueue localQueue,
        Mailbox mailbox,
        Handoff handoff,
        Settlements settlements,
        Losses losses,
        Watchdog watchdog) {}
