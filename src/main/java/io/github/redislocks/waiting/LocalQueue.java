package io.github.redislocks.waiting;

import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.AttemptList;
import io.github.redislocks.state.LockKeys;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * The local queue of a client: for each lock one attempt has the local turn, which lets it ask Redis or hold the lock,
 * and the others wait here in order of arrival. Every change of a lock's line is one atomic operation of the map. So at
 * any moment an attempt either waits, and can leave by itself, or has the turn, and must pass it on.
 */
public final class LocalQueue implements Losses.Turns {

    /** Where an attempt was in the queue when it left. */
    public enum Left {
        WAITING,
        CONTENDING,
        NOWHERE
    }

    /**
     * The queue at one lock. A line is kept small, since each held lock has one: the line refers to no attempt that has
     * a hold, and to no empty list.
     */
    private static final class Line {

        /** The number of the attempt that has the local turn. */
        long contender;

        /** The attempts that wait; null until there is one. Changed only inside operations of the map. */
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

        /** Gives the turn to an attempt that was taken off the list. */
        void turn(Attempt attempt) {
            contender = attempt.number;
            attempt.hasTurn();
        }
    }

    private final ConcurrentMap<String, Line> lines = new ConcurrentHashMap<>();

    /** Adds an attempt to the queue at its lock; returns whether it has the turn already. */
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

    /** The first waiter behind the attempt {@code contender}, if that attempt has the turn; otherwise null. */
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

    /** Passes the turn to a successor, without waking it; false if it has left, so that the turn stays where it is. */
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

    /** Ends the turn of an attempt, if it has the turn; the first waiter gets the turn and is woken. */
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

    /**
     * Takes an attempt out of the queue if the attempt waits. An attempt that has the turn keeps the turn, since it
     * must first pass on what it may have in Redis.
     */
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

    /** Whether an attempt or a hold of the client has the turn at the lock. */
    public boolean isInUse(String lock) {
        return lines.containsKey(lock);
    }

    /** The number of locks with a queue. */
    public int size() {
        return lines.size();
    }
}
