package io.github.redislocks.quorum;

import java.util.List;

/** Questions to one node that came together. Two are never equal. */
final class Ask {

    final List<Poll> polls;
    private final long deadlineNanos;

    Ask(List<Poll> polls, long deadlineNanos) {
        this.polls = polls;
        this.deadlineNanos = deadlineNanos;
    }

    /** From when on none of their requests can run any more. */
    long mayRunUntilNanos() {
        return deadlineNanos + QuorumServer.LATE_MARGIN_NANOS;
    }

    /** By when they have to be answered that are asked from now on. */
    long untilNanos(long now) {
        long until = deadlineNanos;
        for (int i = 0; i < polls.size(); i++) {
            long patience = polls.get(i).patienceNanos();
            if (patience != Long.MAX_VALUE && now + patience - until < 0) {
                until = now + patience;
            }
        }
        return until;
    }

    /**
     * Whether one of them depends on what others are answered first. Without iterators, which need memory: what has
     * been taken must not be lost for want of it.
     */
    boolean isAfterAnyOf(List<Ask> others) {
        for (int i = 0; i < others.size(); i++) {
            if (follows(others.get(i).polls)) {
                return true;
            }
        }
        return false;
    }

    private boolean follows(List<Poll> others) {
        for (int i = 0; i < polls.size(); i++) {
            for (int j = 0; j < others.size(); j++) {
                if (polls.get(i).follows(others.get(j))) {
                    return true;
                }
            }
        }
        return false;
    }
}
