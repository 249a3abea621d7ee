package io.github.redislocks.state;

import org.jspecify.annotations.Nullable;

/**
 * Attempts in order of arrival. The attempts themselves are the nodes of the list, so that no step allocates: memory
 * might be wanting in the middle of one. An attempt is in one list at most.
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

    /** Takes an attempt out; false if it is not in the list. */
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
