package io.github.redislocks.state;

import org.jspecify.annotations.Nullable;

/**
 * A linked list of attempts in order of arrival. The attempts themselves are the nodes, so that no operation allocates
 * and none can fail halfway for want of memory. An attempt is in at most one list.
 */
public class AttemptList {

    private @Nullable Attempt first;
    private @Nullable Attempt last;

    @Nullable
    public final Attempt first() {
        return first;
    }

    public final void add(Attempt attempt) {
        attempt.ahead = last;
        if (last == null) {
            first = attempt;
        } else {
            last.behind = attempt;
        }
        last = attempt;
    }

    /** Removes an attempt; returns false if it is not in the list. */
    public final boolean remove(Attempt attempt) {
        if (attempt.ahead == null && attempt != first) {
            return false;
        }
        if (attempt.ahead == null) {
            first = attempt.behind;
        } else {
            attempt.ahead.behind = attempt.behind;
        }
        if (attempt.behind == null) {
            last = attempt.ahead;
        } else {
            attempt.behind.ahead = attempt.ahead;
        }
        attempt.ahead = null;
        attempt.behind = null;
        return true;
    }
}
