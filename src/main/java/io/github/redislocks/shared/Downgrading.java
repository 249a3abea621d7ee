package io.github.redislocks.shared;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Downgrade;
import org.jspecify.annotations.Nullable;

/**
 * The downgrade of the calling thread, which reads inside its write hold. The thread replaces any other asker, so that
 * the client has one attempt for a share. All readers that wait share the result.
 */
final class Downgrading implements Downgrade {

    private final Shares all;
    private final Sharer sharer;
    private final Cell cell;
    private final Hold write;
    private final Attempt attempt;
    private final WaitLimit limit;

    Downgrading(Shares all, Sharer sharer, Cell cell, Hold write) {
        this.all = all;
        this.sharer = sharer;
        this.cell = cell;
        this.write = write;
        this.limit = WaitLimit.endless(all.settings.retryForNanos());
        all.supersede(sharer, cell.owner);
        this.attempt = makeAttempt();
    }

    /**
     * Makes the attempt. Called when the part of the asker is taken, so that its number is greater than that of the
     * asker before: a late request of that one must not end the share.
     */
    private Attempt makeAttempt() {
        Attempt.Request request = new Attempt.Request(Timing.claimMillis(write.leaseMillis()), true, true);
        Attempt made = null;
        try {
            made = all.attempts.make(write.keys(), sharer, request, limit);
            return made;
        } finally {
            if (made == null) {
                sharer.endsAsking();
            }
        }
    }

    @Override
    public Attempt share() {
        return attempt;
    }

    @Override
    public void goOn(Way way, boolean released) {
        boolean begun = false;
        try {
            cell.waitsOn();
            Hold hold = released ? drive(way) : null;
            if (hold != null) {
                all.begin(sharer, cell, hold);
                begun = true;
                publish();
            }
        } finally {
            try {
                if (!begun) {
                    fail();
                }
            } finally {
                sharer.endsAsking();
            }
        }
    }

    private @Nullable Hold drive(Way way) {
        try {
            return way.acquire(attempt, limit);
        } catch (LockUnavailableException | IllegalStateException | Shares.Superseded e) {
            // The unlock still ends the write hold. The thread's next call of the read lock reports the loss. Another
            // thread of the client supersedes this downgrade if this thread has lost the write lock meanwhile and the
            // other thread got it.
            return null;
        } catch (InterruptedException e) {
            throw new AssertionError("A downgrade does not end by an interrupt", e);
        } finally {
            limit.restore();
        }
    }

    /** Publishes the thread's read before its write hold ends, so that listeners always know one of the two. */
    private void publish() {
        Held reading = all.events.isHeard() ? cell.entered(true) : null;
        if (reading != null) {
            all.events.acquired(reading.keys(), reading, reading.acquiredNanos, all.events.begun(write.keys()));
        }
    }

    /** Declares the thread's read lost: the write hold was lost, or nobody knows whether it became a share. */
    private void fail() {
        // A release that goes on in the background must not make a share that nobody looks after.
        write.names(null);
        LockLost.Reason reason = write.lossReason();
        cell.losesWrite(write, reason == null ? LockLost.Reason.UNCONFIRMED : reason);
        all.handoff.leaveLater(attempt);
    }
}
