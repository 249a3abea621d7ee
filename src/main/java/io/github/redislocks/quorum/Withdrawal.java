package io.github.redislocks.quorum;

import java.util.List;

/**
 * What is to be ended on a master: a ballot that came to nothing, whose place in line stays; or an attempt, with its
 * place.
 *
 * @param ballot votes for later ones stay
 */
public record Withdrawal(List<String> keys, String owner, long attempt, long ballot, End end, Place place) {

    /** How a hold, or what might have become one, ends. */
    public enum End {
        /** In good order, by unlock. */
        RELEASED,
        /** Its owner had it, and did not release it. */
        LOST,
        /** No caller was ever told that it holds the lock. */
        UNHELD
    }

    /** What becomes of the owner's place in line. */
    public enum Place {
        DROP,
        KEEP,
        /** Kept, and nobody is told to ask, since the lock is another's. */
        HUSH
    }
}
