package io.github.redislocks.several;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.engine.Entries;
import io.github.redislocks.engine.LockEngine;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.lease.Losses;
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
import io.github.redislocks.watchdog.Watchdog;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Several locks that a thread or a handle acquires together: all or none. The invariants:
 *
 * <ul>
 *   <li>All owners acquire locks in the order of their names, so that owners cannot deadlock. Before that, one request
 *       tries to take all locks at once, without waiting.
 *   <li>A successful call has all locks: while it waits for a lock, the client renews the locks before it, and at the
 *       end the call checks all of them again.
 *   <li>A call that does not get all locks releases those that it got, even if it throws; after an error the watchdog
 *       releases them.
 * </ul>
 */
public final class SeveralLocks {

    /** The result of a call during which a lock was lost. No lock is held, and there is time for another try. */
    public static final Held[] LOST = {};

    private final List<Sync> parts;
    private final List<String> names;
    private final Settings own;
    private final Clock clock;
    private final Owners owners;
    private final Entries entries;
    private final SeveralExits exits;
    private final Together together;
    private final Watchdog watchdog;

    public SeveralLocks(List<Sync> parts, Settings own, LockEngine engine, Together together) {
        this.parts = List.copyOf(parts);
        this.names = parts.stream().map(part -> part.keys().name()).toList();
        this.own = own;
        this.clock = engine.clock();
        this.owners = engine.owners;
        this.entries = engine.entries;
        this.exits = new SeveralExits(this.parts, engine, together);
        this.together = together;
        this.watchdog = engine.watchdog;
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
     * The limit of a call without a time limit.
     *
     * @param interruptible whether an interrupt ends the wait
     */
    public WaitLimit limit(boolean interruptible) {
        return interruptible ? WaitLimit.interruptible(own.retryForNanos()) : WaitLimit.endless(own.retryForNanos());
    }

    /** The limit of a try. A try with a time of zero or less takes only free locks. */
    public WaitLimit limit(long waitNanos) {
        return WaitLimit.tryWithin(clock.nanoTime(), waitNanos, own.commandTimeoutNanos(), own.retryForNanos());
    }

    /** The limit of {@code tryLock()}, which ignores interrupts. */
    public WaitLimit limitOfTry() {
        return WaitLimit.forAnswer(own.commandTimeoutNanos(), own.retryForNanos());
    }

    /**
     * Acquires all locks, or none.
     *
     * @param owner the handle that wants the locks; null for the calling thread, which re-enters the locks that it
     *     holds already
     * @param limit the time limit for all locks together
     * @return the holds in the order of the parts; null if a lock was busy; or {@link #LOST}
     */
    public Held @Nullable [] acquire(@Nullable HandleOwner owner, WaitLimit limit) throws InterruptedException {
        StackSpace.ensure();
        Held[] had = new Held[parts.size()];
        boolean all = false;
        try {
            if (!acquire(had, owner, limit)) {
                return null;
            }
            all = areHeld(had);
            if (all) {
                return had;
            }
            return mayBeginAnew(limit) ? LOST : null;
        } finally {
            if (!all) {
                exits.giveBack(had, limit);
            }
        }
    }

    private boolean acquire(Held[] had, @Nullable HandleOwner owner, WaitLimit limit) throws InterruptedException {
        long began = clock.nanoTime();
        if (mayTakeTogether(owner)) {
            Answer answer = takeTogether(had, owner, limit);
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
        return acquireEach(had, owner, limit);
    }

    /** Whether there is time for the answer to a first request for a lock. */
    private boolean hasTimeToAsk(WaitLimit limit) {
        return limit.timeoutNanos(clock.nanoTime(), own.commandTimeoutNanos()) > 0;
    }

    /**
     * Whether one request may take all locks. It may not if the calling thread holds one of them: a request cannot
     * re-enter a lock and take others.
     */
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

    private Answer takeTogether(Held[] had, @Nullable HandleOwner handle, WaitLimit limit) {
        long began = clock.nanoTime();
        List<LockKeys> locks = new ArrayList<>(parts.size());
        for (Sync part : parts) {
            locks.add(part.keys());
        }
        Owner owner = handle == null ? owners.caller() : handle;
        Attempt.Request request = new Attempt.Request(own.leaseMillis(), own.isRenewed(), false, own.maxHoldMillis());
        Answer answer = together.take(locks, owner, request, limit, had);
        for (int i = 0; i < had.length; i++) {
            if (had[i] != null) {
                entries.taken(parts.get(i), had[i], began);
            }
        }
        if (!(answer instanceof Answer.Granted)) {
            exits.giveBack(had, limit);
        }
        return answer;
    }

    private boolean acquireEach(Held[] had, @Nullable HandleOwner owner, WaitLimit limit) throws InterruptedException {
        int last = had.length - 1;
        for (int i = 0; i <= last; i++) {
            Sync part = parts.get(i);
            // The first lock needs no check: its time was checked before the request for all locks.
            if (i > 0 && !mayAskForNext(limit)) {
                entries.notTaken(part, clock.nanoTime());
                return false;
            }
            Held held = owner == null ? part.enter(limit) : part.acquire(owner, limit);
            if (held == null) {
                return false;
            }
            had[i] = held;
            if (i < last && held instanceof Hold hold) {
                hold.waitsForOthers();
            }
        }
        complete(had, limit);
        return true;
    }

    /**
     * Whether there is time to ask for the next lock. A try without a time limit has time for one request for each
     * lock.
     */
    public boolean mayAskForNext(WaitLimit limit) {
        limit.restart();
        return !limit.waits() || hasTimeToAsk(limit);
    }

    /** Whether there is time to start again with all locks after one was lost during the wait for the others. */
    public boolean mayBeginAnew(WaitLimit limit) {
        return limit.waits() && limit.remaining(clock.nanoTime()) > 0;
    }

    /**
     * Starts the {@code maxHold} time and a fixed lease of all locks now. Called once the last lock has been acquired.
     */
    public void complete(Held[] had, WaitLimit limit) {
        int last = had.length - 1;
        for (int i = 0; i < last; i++) {
            if (had[i] instanceof Hold hold) {
                hold.hasOthers(clock.nanoTime());
                watchdog.wakeAt(hold.warningNanos());
            }
        }
        long by = exits.byNanos(limit);
        for (int i = 0; i < last && !own.isRenewed(); i++) {
            parts.get(i).fix(had[i], by);
        }
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

    /** The time for which all holds stay valid without a renewal; 0 if one is invalid. */
    public long remainingNanos(Held[] held) {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < held.length; i++) {
            least = Math.min(least, parts.get(i).remainingNanos(held[i]));
        }
        return least;
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
     * Releases all holds: the locks without waiters by one request, then the others one by one, in the reverse order of
     * their names. If holds were lost, throws the first loss after the releases, with the other losses as suppressed
     * exceptions. Waits for one command timeout at most.
     *
     * @param keptMillis for how long, counted from its acquisition, each lock stays taken; 0 to free the locks at once.
     *     Always 0 for threads
     */
    public void release(Held[] held, long keptMillis) {
        exits.release(held, keptMillis);
    }

    /**
     * Releases all holds as {@link #release} does, but without waiting.
     *
     * @param onEnd called once, on the executor of handles, with true if all holds were released and none was lost
     */
    public void releaseLater(Held[] held, long keptMillis, Consumer<Boolean> onEnd) {
        exits.releaseLater(held, keptMillis, onEnd);
    }
}
