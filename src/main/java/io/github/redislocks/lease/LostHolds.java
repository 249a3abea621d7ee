package io.github.redislocks.lease;

import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import java.util.Comparator;

/** The records of holds that were lost, until their owners have unlocked or have ended. Used by the watchdog only. */
final class LostHolds {

    private final Holds holds;
    private final Losses losses;
    private final int remembered;
    /** How many records the present inspection has found so far. */
    private int found;

    /** Makes the records; {@code remembered} is how many are kept. */
    LostHolds(Holds holds, Losses losses, int remembered) {
        this.holds = holds;
        this.losses = losses;
        this.remembered = remembered;
    }

    /**
     * Inspects the record of a loss: repeats the report if an error prevented it, and forgets the record once the
     * owner's thread has ended. A living thread may still unlock. Returns the time of the next look.
     */
    long inspect(Hold hold, long now) {
        losses.ended(hold);
        found++;
        if (!hold.owner.isAlive()) {
            holds.forget(hold);
            return Long.MAX_VALUE;
        }
        hold.lossSeen(now);
        return Losses.nextLook(hold, now);
    }

    /**
     * The thread of this hold may have lost the lock before and locked it again, perhaps more than once. Repeats the
     * reports of those losses ({@code hold.below}) that an error prevented. Returns the time of the next look.
     */
    long inspectBelow(Hold hold, long now) {
        Hold below = hold.below;
        if (below == null) {
            return Long.MAX_VALUE;
        }
        long next = Long.MAX_VALUE;
        try {
            if (below.isUntold()) {
                next = now + Losses.UNTOLD_NANOS;
                losses.ended(below);
            }
        } finally {
            next = Math.min(next, inspectBelow(below, now));
        }
        return next;
    }

    /** Begins an inspection. */
    void begin() {
        found = 0;
    }

    /** Ends the inspection: forgets the records that have been known longest, if there are too many. */
    void forgetOldest() {
        int tooMany = found - remembered;
        if (tooMany > 0) {
            holds.all().stream()
                    .filter(Hold::isLost)
                    .sorted(Comparator.comparingLong(Hold::lossSeenNanos))
                    .limit(tooMany)
                    .toList()
                    .forEach(holds::forget);
        }
    }
}
