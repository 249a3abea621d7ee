package io.github.redislocks;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The one way from the threads of a client to Redis: per lock, one attempt contends or holds, the others wait here in
 * order of arrival. Every change of one lock's line is one atomic step of the map, so a waiter is at any moment either
 * still waiting, which it can undo alone, or has the turn, which it has to hand on.
 */
final class Gate {

    /** Where an attempt was when it left. */
    enum Left {
        WAITING,
        CONTENDING,
        NOWHERE
    }

    /** Small, since each lock that is held has one: it keeps no attempt that has its hold, and no empty line. */
    private static final class Line {

        /** The number of the attempt that has the turn. */
        long contender;

        private @Nullable Deque<Attempt> waiting;

        Line(long contender) {
            this.contender = contender;
        }

        void add(Attempt attempt) {
            if (waiting == null) {
                waiting = new ArrayDeque<>(2);
            }
            waiting.add(attempt);
        }

        @Nullable
        Attempt first() {
            return waiting == null ? null : waiting.peek();
        }

        boolean remove(Attempt attempt) {
            return waiting != null && waiting.remove(attempt);
        }

        /** The turn is this attempt's, which waits no more. */
        void turn(Attempt attempt) {
            contender = attempt.number;
            attempt.turn = true;
        }
    }

    private final ConcurrentMap<String, Line> lines = new ConcurrentHashMap<>();

    /** Joins the line; returns whether the turn is its already. */
    boolean enter(Attempt attempt) {
        lines.compute(attempt.keys.lock(), (key, line) -> {
            if (line == null) {
                attempt.turn = true;
                return new Line(attempt.number);
            }
            line.add(attempt);
            return line;
        });
        return attempt.turn;
    }

    /** The first that waits behind the turn of this attempt, or null. */
    @Nullable
    Attempt heir(Keys keys, long contender) {
        Attempt[] first = new Attempt[1];
        lines.computeIfPresent(keys.lock(), (key, line) -> {
            if (line.contender == contender) {
                first[0] = line.first();
            }
            return line;
        });
        return first[0];
    }

    /**
     * Hands the turn to an heir, without waking it.
     *
     * @return whether the heir has the turn, now or already; if not it has gone, and the turn stays where it is
     */
    boolean inherit(long contender, Attempt heir) {
        boolean[] done = new boolean[1];
        lines.computeIfPresent(heir.keys.lock(), (key, line) -> {
            if (line.contender == contender && line.remove(heir)) {
                line.turn(heir);
            }
            done[0] = line.contender == heir.number;
            return line;
        });
        return done[0];
    }

    /** Ends the turn of an attempt; the first that waits has it next and is woken. Nothing if it has no turn. */
    void exit(Keys keys, long contender) {
        Attempt[] next = new Attempt[1];
        lines.computeIfPresent(keys.lock(), (key, line) -> {
            if (line.contender != contender) {
                return line;
            }
            Attempt heir = line.first();
            if (heir == null) {
                return null;
            }
            line.remove(heir);
            line.turn(heir);
            next[0] = heir;
            return line;
        });
        if (next[0] != null) {
            LockSupport.unpark(next[0].thread);
        }
    }

    /** Takes an attempt out if it waits; if it has the turn, it keeps it, to hand on what it has in Redis first. */
    Left leave(Attempt attempt) {
        Left[] where = {Left.NOWHERE};
        lines.computeIfPresent(attempt.keys.lock(), (key, line) -> {
            if (line.contender == attempt.number) {
                where[0] = Left.CONTENDING;
            } else if (line.remove(attempt)) {
                where[0] = Left.WAITING;
            }
            return line;
        });
        return where[0];
    }

    /** How many locks have somebody at the gate. */
    int size() {
        return lines.size();
    }
}
