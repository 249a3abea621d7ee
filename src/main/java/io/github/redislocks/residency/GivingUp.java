package io.github.redislocks.residency;

import io.github.redislocks.LockGivenUp;
import io.github.redislocks.state.LockKeys;
import java.time.Duration;

/**
 * The data of the event that a lease is given up, collected before the release of the lease is answered.
 *
 * @param recalledNanos when the lease was recalled, if that is the reason; else when the release began
 */
record GivingUp(LockKeys keys, LockGivenUp.Reason reason, long acquiredNanos, long acquisitions, long recalledNanos) {

    /** Makes the event; {@code now} is the time at which the lease was given up. */
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
