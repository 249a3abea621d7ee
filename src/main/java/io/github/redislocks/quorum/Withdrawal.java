package io.github.redislocks.quorum;

import java.util.List;

/**
 * An order to a master to end a ballot that won nothing, or to end an attempt with its place in the queue.
 *
 * @param ballot the last ballot to end; votes for later ballots stay
 */
public record Withdrawal(List<String> keys, String owner, long attempt, long ballot, End end, Place place) {

    /** How the hold ends, or the votes that led to no hold. */
    public enum End {
        /** Unlocked by its owner. */
        RELEASED,
        /** Lost by its owner. */
        LOST,
        /** Never held by a caller. */
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
