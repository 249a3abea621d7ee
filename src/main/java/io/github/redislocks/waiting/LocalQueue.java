package io.github.redislocks.waiting;

import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.AttemptList;
import io.github.redislocks.state.LockKeys;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * The one way from the threads of a client to Redis: per lock, one attempt contends or holds, the others wait here in
 * order of arrival. Every change of one lock's line is one atomic step of the map, so a waiter is at any moment either
 * still waiting, which it can undo alone, or has the turn, which it has to hand on.
 */
public final class LocalQueue implements Losses.Turns {

    /** Where an attempt was when it left. */
    public enum Left {
        WAITING,
        CONTENDING,
        NOWHERE
    }

    /** Small, since each lock that is held has one: it keeps no attempt that has its hold, and no empty line. */
    private static final class Line {

        /** The number of the attempt that has the turn. */
        long contender;

        /** Made for the first that waits; changed by the steps of the map only. */
        private volatile @Nullable AttemptList waiting;

        Line(long contender) {
            this.contender = contender;
        }

        void add(Attempt attempt) {
            if (waiting == null) {
                waiting = new AttemptList();
            }
            waiting.add(attempt);
        }

        @Nullable
        Attempt first() {
            return waiting == null ? null : waiting.first();
        }

        boolean remove(Attempt attempt) {
            return waiting != null && waiting.remove(attempt);
        }

        /** The turn is this attempt's, which waits no more. */
        void turn(Attempt attempt) {
            contender = attempt.number;
            attempt.hasTurn();
        }
    }

    private final ConcurrentMap<String, Line> lines = new ConcurrentHashMap<>();

    /** Joins the line; returns whether the turn is its already. */
    public boolean enter(Attempt attempt) {
        String lock = attempt.keys.lock();
        if (!lines.containsKey(lock) && lines.putIfAbsent(lock, new Line(attempt.number)) == null) {
            attempt.hasTurn();
            return true;
        }
        lines.compute(lock, (key, line) -> {
            if (line == null) {
                attempt.hasTurn();
                return new Line(attempt.number);
            }
            line.add(attempt);
            return line;
        });
        return !attempt.isBehind();
    }

    /** The first that waits behind the turn of this attempt, or null. */
    @Nullable
    public Attempt successor(LockKeys keys, long contender) {
        Line present = lines.get(keys.lock());
        if (present == null || present.waiting == null) {
            return null;
        }
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
     * Hands the turn to a successor, without waking it.
     *
     * @return whether the successor has the turn, now or already; if not it has gone, and the turn stays where it is
     */
    public boolean inherit(long contender, Attempt successor) {
        boolean[] done = new boolean[1];
        lines.computeIfPresent(successor.keys.lock(), (key, line) -> {
            if (line.contender == contender && line.remove(successor)) {
                line.turn(successor);
            }
            done[0] = line.contender == successor.number;
            return line;
        });
        return done[0];
    }

    /** Ends the turn of an attempt; the first that waits has it next and is woken. Nothing if it has no turn. */
    @Override
    public void exit(LockKeys keys, long contender) {
        Attempt[] next = new Attempt[1];
        lines.computeIfPresent(keys.lock(), (key, line) -> {
            if (line.contender != contender) {
                return line;
            }
            Attempt successor = line.first();
            if (successor == null) {
                return null;
            }
            line.remove(successor);
            line.turn(successor);
            next[0] = successor;
            return line;
        });
        if (next[0] != null) {
            next[0].owner.wake();
        }
    }

    /** Takes an attempt out if it waits; if it has the turn, it keeps it, to hand on what it has in Redis first. */
    public Left leave(Attempt attempt) {
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

    /** How many locks have somebody in the local queue. */
    public int size() {
        return lines.size();
    }
}
