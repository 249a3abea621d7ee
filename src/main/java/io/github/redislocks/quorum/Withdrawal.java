package io.github.redislocks.quorum;

import java.util.List;

/**
 * An order to a master to end the votes of a ballot that did not win, or to end an attempt and its place in the queue.
 *
 * @param ballot the last ballot whose votes end; votes for later ballots stay
 */
public record Withdrawal(List<String> keys, String owner, long attempt, long ballot, End end, Place place) {

    /** The fate of the attempt that asked for the votes. */
    public enum End {
        /** The owner has unlocked the lock. */
        RELEASED,
        /** The owner has lost the lock. */
        LOST,
        /** The attempt led to no hold. */
        UNHELD
    }

    /** The fate of the owner's place in the queue. */
    public enum Place {
        DROP,
        KEEP,
        /** The place stays, and no waiter is notified, since another owner has the lock. */
        HUSH
    }
}
