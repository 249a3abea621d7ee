package io.github.redislocks.residency;

import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Hold;

/**
 * Decides whether threads' holds under a lease are valid. After the loss of a hold, ends the turn and notifies the
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

    /**
     * Declares a new hold lost if its lease was lost meanwhile: the thread that declared that loss may not have seen
     * the hold.
     */
    public void begun(ThreadHold hold, long now) {
        if (!hold.lease.isOpen()) {
            isValid(hold, now);
        }
    }

    /**
     * Ends the turn and notifies the listeners after a loss, once. If an error prevents this, the watchdog does it
     * later.
     */
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

    /**
     * Notifies the listeners of the loss of a lease, reported for a thread that has unlocked. Its acquisition was
     * published long ago.
     */
    void tell(LockLost loss, Hold lease) {
        lease.announced();
        losses.tell(loss, lease);
    }

    /** Ends the local turn of a lease that was lost. */
    void endTurn(Hold lease) {
        losses.endTurn(lease);
    }
}
