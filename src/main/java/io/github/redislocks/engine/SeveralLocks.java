package io.github.redislocks.engine;

import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.engine.Exits.Ending;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Owners;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.Together;
import io.github.redislocks.watchdog.Watchdog;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Several locks, of which a thread or a handle has all or none. The invariants:
 *
 * <ul>
 *   <li>All owners ask for locks in one order, that of their names, so that no owners wait for each other in a circle.
 *       Before that, one request asks for all locks, without waiting.
 *   <li>A call that returns has all locks: it renews the first locks while it waits for the others, and checks them
 *       again at the end.
 *   <li>A call that does not get all releases the locks that it has, in whatever way it ends; after an error the
 *       watchdog does.
 * </ul>
 */
public final class SeveralLocks {

    /**
     * Returned instead of holds: a lock was lost during the call. No lock is held, and there is time for another try.
     */
    public static final Held[] LOST = {};

    private final List<Sync> parts;
    private final List<String> names;
    private final Settings own;
    private final Clock clock;
    private final Owners owners;
    private final Entries entries;
    private final Exits exits;
    private final Together together;
    private final Handoff handoff;
    private final Watchdog watchdog;

    SeveralLocks(
            List<Sync> parts,
            Settings own,
            Clock clock,
            Owners owners,
            LockEngine engine,
            Together together,
            Handoff handoff,
            Watchdog watchdog) {
        this.parts = List.copyOf(parts);
        this.names = parts.stream().map(part -> part.keys().name()).toList();
        this.own = own;
        this.clock = clock;
        this.owners = owners;
        this.entries = engine.entries;
        this.exits = engine.exits;
        this.together = together;
        this.handoff = handoff;
        this.watchdog = watchdog;
    }

    /** The locks, in the order of their names. */
    public List<Sync> parts() {
        return parts;
    }

    public List<String> names() {
        return names;
    }

    /** The index of the lock with this name. */
    public int indexOf(String name) {
        int index = names.indexOf(name);
        if (index < 0) {
            throw new IllegalArgumentException("\"" + name + "\" is none of " + names + ": ask for one of these.");
        }
        return index;
    }

    /**
     * The limit of a call that waits as long as it takes.
     *
     * @param interruptible whether an interrupt ends the wait
     */
    public WaitLimit limit(boolean interruptible) {
        return interruptible ? WaitLimit.interruptible(own.retryForNanos()) : WaitLimit.endless(own.retryForNanos());
    }

    /** The limit of a try; with a time of zero or less, it takes only free locks. */
    public WaitLimit limit(long waitNanos) {
        return WaitLimit.tryWithin(clock.nanoTime(), waitNanos, own.commandTimeoutNanos(), own.retryForNanos());
    }

    /** The limit of {@code tryLock()}, which no interrupt ends. */
    public WaitLimit limitOfTry() {
        return WaitLimit.forAnswer(clock.nanoTime(), own.commandTimeoutNanos(), own.retryForNanos());
    }

    /**
     * Acquires all, or none.
     *
     * @param owner the handle that wants the locks; null for the calling thread, which re-enters the locks that it has
     * @param limit how long to wait for all locks together
     * @param renewed whether the watchdog renews the holds; if not, the lease of each counts from the acquisition of
     *     the last
     * @return the holds in the order of the parts; null if a lock was busy; or {@link #LOST}
     */
    public Held @Nullable [] acquire(@Nullable HandleOwner owner, WaitLimit limit, boolean renewed)
            throws InterruptedException {
        StackSpace.ensure();
        Held[] had = new Held[parts.size()];
        boolean all = false;
        try {
            if (!acquire(had, owner, limit, renewed)) {
                return null;
            }
            all = areHeld(had);
            boolean again = limit.waits() && limit.remaining(clock.nanoTime()) > 0;
            return all ? had : again ? LOST : null;
        } catch (Error e) {
            strand(had);
            all = true;
            throw e;
        } finally {
            if (!all) {
                giveBack(had, limit);
            }
        }
    }

    private boolean acquire(Held[] had, @Nullable HandleOwner owner, WaitLimit limit, boolean renewed)
            throws InterruptedException {
        long began = clock.nanoTime();
        if (mayTakeTogether(owner)) {
            Answer answer = takeTogether(had, owner, limit, renewed);
            if (answer instanceof Answer.Granted) {
                return true;
            }
            boolean ends = !limit.waits() || limit.remaining(clock.nanoTime()) <= 0;
            if (ends && answer instanceof Answer.OneBusy busy) {
                entries.notTaken(parts.get(busy.index()), began);
                return false;
            }
            if (ends && !hasTimeToAsk(limit)) {
                entries.notAnswered(parts.get(0), began, limit.waits());
                return false;
            }
        }
        return acquireEach(had, new Request(owner, limit, renewed));
    }

    /** The parameters of {@link #acquire(HandleOwner, WaitLimit, boolean)}. */
    private record Request(@Nullable HandleOwner owner, WaitLimit limit, boolean renewed) {}

    /** Whether the answer to a first request for a lock could still come in time. */
    private boolean hasTimeToAsk(WaitLimit limit) {
        return limit.timeoutNanos(clock.nanoTime(), own.commandTimeoutNanos()) > 0;
    }

    /** Whether one request may take all locks. It may not if the thread has one of them, which it has to re-enter. */
    private boolean mayTakeTogether(@Nullable HandleOwner owner) {
        if (Thread.currentThread().isInterrupted() || !together.isPossible(parts.size())) {
            return false;
        }
        for (int i = 0; owner == null && i < parts.size(); i++) {
            if (parts.get(i).hasPossession()) {
                return false;
            }
        }
        return true;
    }

    private Answer takeTogether(Held[] had, @Nullable HandleOwner handle, WaitLimit limit, boolean renewed) {
        long began = clock.nanoTime();
        List<LockKeys> locks = new ArrayList<>(parts.size());
        for (Sync part : parts) {
            locks.add(part.keys());
        }
        Owner owner = handle == null ? owners.caller() : handle;
        Attempt.Request request = new Attempt.Request(own.leaseMillis(), renewed, false, own.maxHoldMillis());
        Answer answer = together.take(locks, owner, request, limit, had);
        for (int i = 0; i < had.length; i++) {
            if (had[i] != null) {
                entries.taken(parts.get(i), had[i], began);
            }
        }
        if (!(answer instanceof Answer.Granted)) {
            giveBack(had, limit);
            Arrays.fill(had, null);
        }
        return answer;
    }

    private boolean acquireEach(Held[] had, Request request) throws InterruptedException {
        HandleOwner owner = request.owner();
        WaitLimit limit = request.limit();
        int last = had.length - 1;
        for (int i = 0; i <= last; i++) {
            long now = clock.nanoTime();
            // A tryLock() without a time limit has time for one request for each lock. The time of the first lock
            // includes the request for all locks, so it is not restarted.
            if (i > 0) {
                limit.restart(now);
            }
            Sync part = parts.get(i);
            if (i > 0 && !hasTimeToAsk(limit)) {
                entries.notTaken(part, now);
                return false;
            }
            boolean isRenewed = request.renewed() || i < last;
            Held held = owner == null ? part.acquire(limit, isRenewed) : part.acquire(owner, limit, isRenewed);
            if (held == null) {
                return false;
            }
            had[i] = held;
            if (i < last && held instanceof Hold hold) {
                hold.waitsForOthers();
            }
        }
        complete(had, limit, request.renewed());
        return true;
    }

    /** Has the times of the holds count from now on. Called when the last lock has been acquired. */
    void complete(Held[] had, WaitLimit limit, boolean renewed) {
        int last = had.length - 1;
        for (int i = 0; i < last; i++) {
            if (had[i] instanceof Hold hold) {
                hold.hasOthers(clock.nanoTime());
                watchdog.wakeAt(hold.warningNanos());
            }
        }
        long by = byNanos(limit);
        for (int i = 0; i < last && !renewed; i++) {
            parts.get(i).fix(had[i], by);
        }
    }

    /** The time by which the requests after the last acquisition must be answered. */
    private long byNanos(WaitLimit limit) {
        long now = clock.nanoTime();
        return now + limit.timeoutNanos(now, own.commandTimeoutNanos());
    }

    /** Whether all holds are valid now. */
    public boolean areHeld(Held[] held) {
        for (int i = 0; i < held.length; i++) {
            if (!parts.get(i).isValid(held[i])) {
                return false;
            }
        }
        return true;
    }

    /**
     * Throws if a hold is lost; the exception names it.
     *
     * @return false if no hold is lost, but one is being released
     */
    public boolean ensureHeld(Held[] held) {
        boolean valid = true;
        for (int i = 0; i < held.length; i++) {
            if (!parts.get(i).isValid(held[i])) {
                if (held[i].lossReason() != null) {
                    throw Losses.exception(held[i]);
                }
                valid = false;
            }
        }
        return valid;
    }

    /** For how long all holds are valid from now on; 0 if one is not. */
    public long remainingNanos(Held[] held) {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < held.length; i++) {
            least = Math.min(least, parts.get(i).remainingNanos(held[i]));
        }
        return least;
    }

    private void giveBack(@Nullable Held[] had, WaitLimit limit) {
        try {
            List<Hold> ending = new ArrayList<>(had.length);
            List<Sync> ends = new ArrayList<>(had.length);
            long by = byNanos(limit);
            for (int i = had.length - 1; i >= 0; i--) {
                Held held = had[i];
                if (held == null) {
                    continue;
                }
                if (parts.get(i).undo(held, by)) {
                    had[i] = null;
                } else {
                    ending.add((Hold) held);
                    ends.add(parts.get(i));
                }
            }
            handoff.giveBack(ending, by);
            for (int i = 0; i < ends.size(); i++) {
                exits.released(ends.get(i), ending.get(i), clock.nanoTime());
            }
        } catch (Throwable e) {
            strand(had);
            throw e;
        }
    }

    /** Leaves the acquired locks to the watchdog, after an error. */
    private void strand(@Nullable Held[] had) {
        for (int i = 0; i < had.length; i++) {
            Held held = had[i];
            if (held != null) {
                parts.get(i).strand(held, held.count());
            }
        }
    }

    /** The calling thread's possession of each lock, valid or lost; throws if one is missing. */
    public Held[] possessions() {
        Held[] held = new Held[parts.size()];
        for (int i = 0; i < held.length; i++) {
            held[i] = parts.get(i).possession();
        }
        return held;
    }

    /**
     * Releases all holds: the locks without waiters by one request, then the others one by one, the last first. If
     * releases fail, throws afterwards: the first loss, with the others as suppressed exceptions; but an Error before
     * any loss. Waits for one command timeout at most.
     *
     * @param keptMillis how long after the beginning of the holds the locks stay taken; 0 to free them at once, which
     *     is always so for holds of threads
     */
    public void release(Held[] held, long keptMillis) {
        keepFor(held, keptMillis);
        long by;
        @Nullable Ending[] begun;
        Freed freed;
        try {
            StackSpace.ensure();
            by = clock.nanoTime() + own.commandTimeoutNanos();
            begun = new Ending[held.length];
            freed = keptMillis > 0 ? Freed.NONE : freeTogether(held, begun, by);
        } catch (Throwable e) {
            strand(held);
            throw e;
        }
        RuntimeException lost = null;
        Error met = null;
        for (int i = held.length - 1; i >= 0; i--) {
            Held hold = held[i];
            int count = hold.count();
            try {
                Ending ending = begun[i];
                if (keptMillis > 0) {
                    exits.releaseHandle(parts.get(i), (Hold) hold, keptMillis, by);
                } else if (ending == null) {
                    parts.get(i).unlock(hold, by);
                } else if (freed.has(hold)) {
                    exits.freed(parts.get(i), ending);
                } else {
                    exits.end(parts.get(i), ending, freed.mayHaveRun(), freed.failure);
                }
            } catch (LockLostException e) {
                lost = lost == null ? e : with(lost, e);
            } catch (RuntimeException e) {
                // No release is known to throw this. If one does, the other locks must be released nevertheless.
                parts.get(i).strand(hold, count);
                lost = lost == null ? e : with(lost, e);
            } catch (Error e) {
                parts.get(i).strand(hold, count);
                met = e;
            }
        }
        if (met != null) {
            throw met;
        }
        if (lost != null) {
            throw lost;
        }
    }

    /** Notes first how long the locks stay taken, so that the watchdog knows the time after an error. */
    private static void keepFor(Held[] held, long keptMillis) {
        for (int i = 0; keptMillis > 0 && i < held.length; i++) {
            ((Hold) held[i]).keepFor(keptMillis);
        }
    }

    /** The outcome of the request that frees several locks: the holds, and the answer, if there was one. */
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

    private static RuntimeException with(RuntimeException first, RuntimeException other) {
        try {
            first.addSuppressed(other);
        } catch (OutOfMemoryError e) {
            // Ignored: the caller gets only one of the losses, and the other locks still have to be released.
        }
        return first;
    }

    /**
     * As {@link #release}, without waiting.
     *
     * @param onEnd called once with whether all were released without a loss, on the executor of handles
     */
    public void releaseLater(Held[] held, long keptMillis, Consumer<Boolean> onEnd) {
        keepFor(held, keptMillis);
        int next = held.length - 1;
        try {
            StackSpace.ensure();
            Ends ends = new Ends(held.length, onEnd);
            for (; next >= 0; next--) {
                exits.releaseHandleLater(parts.get(next), (Hold) held[next], keptMillis, ends);
            }
        } finally {
            for (; next >= 0; next--) {
                parts.get(next).strand(held[next], 1);
            }
        }
    }

    /** Counts the ends of several releases, and reports the last. */
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
