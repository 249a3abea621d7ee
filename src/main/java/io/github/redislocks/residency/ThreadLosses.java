package io.github.redislocks.residency;

import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Hold;

/**
 * Decides whether threads' holds under a lease are valid. After the loss of one, ends the turn and notifies the
 * listeners, once.
 */
public final class ThreadLosses {

    private final Losses losses;

    public ThreadLosses(Losses losses) {
        this.losses = losses;
    }

    /** Returns true if the hold is valid now. The first caller that finds its lease ended declares the loss. */
    public boolean isValid(ThreadHold hold, long now) {
        if (hold.isValid(now)) {
            return true;
        }
        if (!losses.isValid(hold.lease, now)) {
            LockLost.Reason reason = hold.lease.lossReason();
            if (reason != null && hold.lose(reason)) {
                ended(hold);
            }
        }
        return false;
    }

    /** Ends it if its lease was lost by somebody who did not see yet that it had begun. */
    public void begun(ThreadHold hold, long now) {
        if (!hold.lease.isOpen()) {
            isValid(hold, now);
        }
    }

    /** Does once what follows from a loss. If an error prevents that, the watchdog does it later. */
    void ended(ThreadHold hold) {
        LockLost.Reason reason = hold.lossReason();
        if (reason == null) {
            return;
        }
        // Check the stack before beginTelling(): after that, a failure has to be noted, which takes a call.
        StackSpace.ensureLocal();
        if (!hold.beginTelling()) {
            return;
        }
        boolean done = false;
        try {
            losses.noteLost(hold.lease.attempt);
            hold.endTurn();
            losses.tell(hold.loss(reason), hold);
            done = true;
        } finally {
            hold.endTelling(done);
        }
    }

    /** Tells the loss of a lease by a thread that has unlocked, whose acquisition was told long ago. */
    void tell(LockLost loss, Hold lease) {
        lease.announced();
        losses.tell(loss, lease);
    }

    /** Ends the local turn of a lease that was lost. */
    void endTurn(Hold lease) {
        losses.endTurn(lease);
    }
}
