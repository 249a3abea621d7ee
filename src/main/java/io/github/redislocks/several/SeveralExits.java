package io.github.redislocks.several;

import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.engine.Exits;
import io.github.redislocks.engine.Exits.Ending;
import io.github.redislocks.engine.LockEngine;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.watchdog.Watchdog;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Releases several locks of one owner: all of them after use, or those that a failed acquisition had got. After an
 * error the watchdog releases the locks that are left.
 */
final class SeveralExits {

    private final List<Sync> parts;
    private final Exits exits;
    private final Clock clock;
    private final Handoff handoff;
    private final Watchdog watchdog;
    private final Together together;
    private final long commandTimeoutNanos;

    SeveralExits(List<Sync> parts, LockEngine engine, Together together) {
        this.parts = parts;
        this.exits = engine.exits;
        this.clock = engine.clock();
        this.handoff = engine.handoff;
        this.watchdog = engine.watchdog;
        this.together = together;
        this.commandTimeoutNanos = engine.commandTimeoutNanos();
    }

    /** The deadline for the answers to the requests that follow the last acquisition. */
    long byNanos(WaitLimit limit) {
        long now = clock.nanoTime();
        return now + limit.timeoutNanos(now, commandTimeoutNanos);
    }

    /** Releases the locks that a failed acquisition had got, and clears the array. */
    void giveBack(@Nullable Held[] had, WaitLimit limit) {
        int last = -1;
        int count = 0;
        try {
            long by = byNanos(limit);
            List<Hold> ending = new ArrayList<>(had.length);
            List<Sync> ends = new ArrayList<>(had.length);
            for (int i = had.length - 1; i >= 0; i--) {
                Held held = had[i];
                if (held == null) {
                    continue;
                }
                last = i;
                count = held.count();
                if (parts.get(i).undo(held, by)) {
                    had[i] = null;
                } else {
                    ending.add((Hold) held);
                    ends.add(parts.get(i));
                }
            }
            handoff.giveBack(ending, by);
            for (int i = 0; i < ends.size(); i++) {
                Hold hold = ending.get(i);
                if (!hold.isLost()) {
                    exits.released(ends.get(i), hold, clock.nanoTime());
                }
            }
            Arrays.fill(had, null);
        } finally {
            // Pass the count from before the error: undo() may have counted the end of a re-entry already.
            strand(had, had.length - 1, last, count);
        }
    }

    /** Does what {@link SeveralLocks#release} says. */
    void release(Held[] held, long keptMillis) {
        keepFor(held, keptMillis);
        int next = held.length - 1;
        int count = held[next].count();
        RuntimeException met = null;
        try {
            StackSpace.ensure();
            long by = clock.nanoTime() + commandTimeoutNanos;
            @Nullable Ending[] begun = new Ending[held.length];
            Freed freed = keptMillis > 0 ? Freed.NONE : freeTogether(held, begun, by);
            for (; next >= 0; next--) {
                Sync part = parts.get(next);
                Ending ending = begun[next];
                count = held[next].count();
                try {
                    if (keptMillis > 0) {
                        exits.release(part, (Hold) held[next], keptMillis, by);
                    } else if (ending == null) {
                        part.unlock(held[next], by);
                    } else if (freed.has(held[next])) {
                        exits.freed(part, ending);
                    } else {
                        exits.end(part, ending, freed.mayHaveRun(), freed.failure);
                    }
                } catch (RuntimeException e) {
                    if (!(e instanceof LockLostException)) {
                        // No release is known to throw another RuntimeException. If one does, the watchdog releases its
                        // lock, and the loop goes on with the other locks.
                        part.strand(held[next], count);
                    }
                    if (met == null) {
                        met = e;
                    } else {
                        met.addSuppressed(e);
                    }
                }
            }
        } finally {
            strand(held, next, next, count);
        }
        if (met != null) {
            throw met;
        }
    }

    /** Does what {@link SeveralLocks#releaseLater} says. */
    void releaseLater(Held[] held, long keptMillis, Consumer<Boolean> onEnd) {
        keepFor(held, keptMillis);
        int next = held.length - 1;
        try {
            StackSpace.ensure();
            Ends ends = new Ends(held.length, onEnd);
            for (; next >= 0; next--) {
                exits.releaseHandleLater(parts.get(next), (Hold) held[next], keptMillis, ends);
            }
        } finally {
            strand(held, next, next, 1);
        }
    }

    /**
     * Hands the locks whose release an error has prevented to the watchdog.
     *
     * @param from the index of the last of these locks; -1 if there is none
     * @param met the index of the lock whose release met the error
     * @param count the hold count of that lock before its release
     */
    private void strand(@Nullable Held[] held, int from, int met, int count) {
        boolean any = false;
        // Lost holds come last: ending a lost hold notifies the listeners, which may meet the same error again.
        for (int pass = 0; pass < 2; pass++) {
            for (int i = from; i >= 0; i--) {
                Held left = held[i];
                if (left != null && left.isLost() == (pass == 1)) {
                    any = true;
                    parts.get(i).strand(left, i == met ? count : left.count());
                }
            }
        }
        if (any) {
            watchdog.wakeNow();
        }
    }

    /**
     * Notes for how long the locks stay taken. Call before the release: if an error stops it, the watchdog uses this
     * time.
     */
    private static void keepFor(Held[] held, long keptMillis) {
        for (int i = 0; keptMillis > 0 && i < held.length; i++) {
            ((Hold) held[i]).keepFor(keptMillis);
        }
    }

    /** The outcome of the request that frees several locks: the holds that it named, and the reply or the failure. */
    private record Freed(
            List<Hold> holds,
            @Nullable Reply reply,
            @Nullable RedisException failure) {

        static final Freed NONE = new Freed(List.of(), null, null);

        boolean has(Held hold) {
            return reply != null && Answer.isFreed(reply, holds.indexOf(hold));
        }

        boolean mayHaveRun() {
            return reply != null && reply.resent();
        }
    }

    /**
     * Frees the locks without waiters by one request.
     *
     * @param begun receives the holds whose release has begun
     */
    private Freed freeTogether(Held[] held, @Nullable Ending[] begun, long by) {
        if (!together.isPossible(held.length)) {
            return Freed.NONE;
        }
        List<Hold> ending = new ArrayList<>(held.length);
        long sent = clock.nanoTime();
        for (int i = 0; i < held.length; i++) {
            if (held[i] instanceof Hold hold && exits.mayEndWithOthers(parts.get(i), hold)) {
                begun[i] = exits.beginEnd(hold, sent, by);
                if (begun[i] != null) {
                    ending.add(hold);
                }
            }
        }
        return ending.isEmpty() ? Freed.NONE : free(ending, by - sent);
    }

    private Freed free(List<Hold> ending, long timeoutNanos) {
        try {
            return new Freed(ending, together.free(ending, timeoutNanos), null);
        } catch (RedisException e) {
            return new Freed(ending, null, e);
        }
    }

    /** Counts the releases that have ended; after the last one, calls {@code onEnd}. */
    private static final class Ends implements Consumer<Boolean> {

        private final AtomicInteger left;
        private final Consumer<Boolean> onEnd;
        private volatile boolean inGoodOrder = true;

        Ends(int count, Consumer<Boolean> onEnd) {
            this.left = new AtomicInteger(count);
            this.onEnd = onEnd;
        }

        @Override
        public void accept(Boolean released) {
            if (!released) {
                inGoodOrder = false;
            }
            if (left.decrementAndGet() == 0) {
                onEnd.accept(inGoodOrder);
            }
        }
    }
}
