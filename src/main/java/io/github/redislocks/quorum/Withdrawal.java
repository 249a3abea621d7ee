package io.github.redislocks.quorum;

import java.util.List;

/**
 * An order to a master to end the votes of a ballot that did not win, or to end an attempt and its place in the queue.
 *
 * @param ballot the last ballot whose votes end; votes for later ballots stay
 */
public record Withdrawal(List<String> keys, String owner, long attempt, long ballot, End end, Place place) {

    /** What has become of the attempt that asked for the votes. */
    public enum End {
        /** Its owner has unlocked the lock. */
        RELEASED,
        /** Its owner has lost the lock. */
        LOST,
        /** It led to no hold. */
        UNHELD
    }

    /** What becomes of the owner's place in the queue. */
    public enum Place {
        DROP,
        KEEP,
        /** The place stays, and no waiter is notified, since another owner has the lock. */
        HUSH
    }
}
