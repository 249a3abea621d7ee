package io.github.redislocks.cli;

import io.github.redislocks.cli.Recorded.Loss;
import io.github.redislocks.cli.Recorded.Source;
import io.github.redislocks.cli.Recorded.Span;
import io.github.redislocks.cli.Recorded.Who;

/** The record of an acquisition: the wait, the hold, and the loss of the hold, as far as they were recorded. */
final class Piece {

    static final int NONE = -1;
    static final String LOST_HOLD = "lost";

    final String lock;
    final long token;
    private final Source source;

    Span waited;
    Span held;
    Loss lost;
    /** The row in the lane. Pieces at the same time have different rows. */
    int row;
    /** The index of the wait among the bars, and in the next field of the hold; NONE for what is not drawn. */
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
            // The time of the event includes the release request, but its length does not: place the hold at the end of
            // the wait.
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

    /** Whether the hold was lost and the time of its acquisition is known. */
    boolean isLostHold() {
        return lost != null && held == null && waited != null;
    }

    /** The span from the acquisition to the loss of the hold. Call only if {@link #isLostHold}. */
    Span lostHold() {
        long began = waited.end();
        return new Span(
                source, waited.who(), lock, LOST_HOLD, token, lost.at(), Math.max(0, lost.at() - began), false, "");
    }

    /**
     * The thread in whose lane this piece is drawn: the thread that released the lock, or otherwise the thread that
     * acquired it. Null if both are threads of the library, which report the events of handles.
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

    /**
     * Whether the release of {@code before} handed the lock to this piece. Both pieces are of the same lock, and
     * {@code before} has a smaller token.
     */
    boolean isGrantAfter(Piece before) {
        return waited != null
                && before.held != null
                && before.lost == null
                && waited.begin() <= before.held.end()
                && waited.end() >= before.held.begin();
    }
}
