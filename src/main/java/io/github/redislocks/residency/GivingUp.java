package io.github.redislocks.residency;

import io.github.redislocks.LockGivenUp;
import io.github.redislocks.state.LockKeys;
import java.time.Duration;

/**
 * The event of a residence that is given up, before its release is answered.
 *
 * @param recalledNanos when it was recalled, if that is the reason
 */
record GivingUp(LockKeys keys, LockGivenUp.Reason reason, long acquiredNanos, long acquisitions, long recalledNanos) {

    /** Makes the event of a residence that was given up at a time. */
    LockGivenUp at(long now) {
        Duration lasted = since(acquiredNanos, now);
        return reason == LockGivenUp.Reason.RECALLED
                ? LockGivenUp.recalled(keys.name(), lasted, acquisitions, since(recalledNanos, now))
                : LockGivenUp.of(keys.name(), reason, lasted, acquisitions);
    }

    private static Duration since(long fromNanos, long untilNanos) {
        return Duration.ofNanos(Math.max(0, untilNanos - fromNanos));
    }
}
