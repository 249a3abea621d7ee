package io.github.redislocks.cli;

import io.github.redislocks.cli.Recorded.Loss;
import io.github.redislocks.cli.Recorded.Source;
import io.github.redislocks.cli.Recorded.Span;
import io.github.redislocks.cli.Recorded.Who;

/** A call for a lock and its result: a wait, the hold that it led to, the loss of that; not all are there. */
final class Piece {

    static final int NONE = -1;
    static final String LOST_HOLD = "lost";

    final String lock;
    final long token;
    private final Source source;

    Span waited;
    Span held;
    Loss lost;
    /** The row in the lane, below other pieces at the same time. */
    int row;
    /** The numbers of the wait and the hold among the bars. */
    int waitBar = NONE;

    int holdBar = NONE;

    Piece(Source source, String lock, long token) {
        this.source = source;
        this.lock = lock;
        this.token = token;
    }

    Source source() {
        return source;
    }

    void add(Span span) {
        if (span.isHold()) {
            held = span;
        } else {
            waited = span;
        }
        if (waited != null && held != null && waited.end() + held.length() < held.end()) {
            // The event of the release came after the answer of Redis; the release is not part of the hold.
            held = held.endingAt(waited.end() + held.length());
        }
    }

    long begin() {
        if (waited != null) {
            return waited.begin();
        }
        return held != null ? held.begin() : lost.at();
    }

    long end() {
        long end = lost != null ? lost.at() : Long.MIN_VALUE;
        end = held != null ? Math.max(end, held.end()) : end;
        return waited != null ? Math.max(end, waited.end()) : end;
    }

    /** Whether its hold was lost, and since when it was held is known. */
    boolean isLostHold() {
        return lost != null && held == null && waited != null;
    }

    /** Returns the hold until its loss. */
    Span lostHold() {
        long began = waited.end();
        return new Span(
                source, waited.who(), lock, LOST_HOLD, token, lost.at(), Math.max(0, lost.at() - began), false, "");
    }

    /**
     * The thread that it is drawn beside: the one that released the lock, else the one that asked for it; null if that
     * is none of the application's, as of handles that the library tells of.
     */
    Who who() {
        if (held != null && isOfApplication(held.who())) {
            return held.who();
        }
        return waited != null && isOfApplication(waited.who()) ? waited.who() : null;
    }

    private static boolean isOfApplication(Who who) {
        return !who.name().startsWith("redis-locks-");
    }

    /** Whether the lock came from the release of the one before, which is of the same lock with a smaller token. */
    boolean isGrantAfter(Piece before) {
        return waited != null
                && before.held != null
                && before.lost == null
                && waited.begin() <= before.held.end()
                && waited.end() >= before.held.begin();
    }
}
