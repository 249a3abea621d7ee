package io.github.redislocks.engine;

import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.MemoryEdge;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.waiting.Acquisitions;
import io.github.redislocks.waiting.Downgrade;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.LocalQueue;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.watchdog.Watchdog;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Ends holds on behalf of their owners: counts unlocks, releases holds and hands the locks on, undoes acquisitions, and
 * ends several holds together. There is one object for each client; the lock is an argument. See {@link LockEngine} for
 * the invariants.
 */
public final class Exits {

    /** A value of {@code byNanos} that is no limit: only the timeout of each request counts. */
    static final long NEVER = Long.MAX_VALUE;

    /** A hold whose release began at {@code sentNanos}, with its deadline and the time by which Redis must answer. */
    public record Ending(Hold hold, long sentNanos, long untilNanos, long byNanos) {}

    private final Clock clock;
    private final Settings settings;
    private final MonitoredRedis monitored;
    private final Holds holds;
    private final LocalQueue localQueue;
    private final Handoff handoff;
    private final Losses losses;
    private final Watchdog watchdog;
    private final EventNotifier events;
    private final Acquisitions acquisitions;

    Exits(RedisAccess access, WaitingParts parts, Acquisitions acquisitions, EventNotifier events) {
        this.acquisitions = acquisitions;
        this.clock = access.clock();
        this.settings = access.settings();
        this.monitored = access.monitored();
        this.holds = parts.holds();
        this.localQueue = parts.localQueue();
        this.handoff = parts.handoff();
        this.losses = parts.losses();
        this.watchdog = parts.watchdog();
        this.events = events;
    }

    /** Unlocks a hold once. If Redis has not answered by {@code byNanos}, the release goes on in the background. */
    void unlock(LockObject lock, Hold hold, long byNanos) {
        long now = clock.nanoTime();
        if (!losses.isValid(hold, now)) {
            throw unlockLost(hold);
        }
        if (hold.count() > 1) {
            exit(lock, hold, byNanos);
        } else {
            release(lock, hold, 0, byNanos);
        }
    }

    /**
     * Undoes an acquisition that no caller got. Returns false if the hold has no other acquisition, so that the caller
     * of this method has to release the hold.
     */
    boolean undo(LockObject lock, Hold hold, long byNanos) {
        if (hold.count() > 1) {
            exitInner(lock, hold, byNanos);
            return true;
        }
        return removesLost(hold);
    }

    /**
     * Removes a hold that is lost, since its owner will not unlock it; returns whether it is lost. A hold whose release
     * an error has stopped is not: it stays for the watchdog.
     */
    private boolean removesLost(Hold hold) {
        boolean lost = !losses.isValid(hold) && hold.isLost();
        if (lost) {
            losses.ended(hold);
            holds.remove(hold);
        }
        return lost;
    }

    /**
     * Ends the latest acquisition of a hold after an error. A caller that has several holds calls this for all of them
     * before it wakes the watchdog: the wake-up needs more stack than this method.
     *
     * @param count the hold count before the end of the acquisition began
     */
    void strand(Hold hold, int count) {
        if (hold.isLost()) {
            if (hold.count() == count) {
                losses.ended(hold);
                unlockedAfterLoss(hold);
            }
        } else if (count == 1) {
            hold.stranded = true;
        } else if (hold.count() == count) {
            hold.exited();
        }
    }

    /** Notifies the listeners that a hold was released. */
    public void released(LockObject lock, Held hold, long atNanos) {
        events.released(lock.keys, hold, atNanos);
    }

    /** Ends the renewal of a hold; {@code extended} says that Redis has just given the lease with which it ends. */
    void fix(Hold hold, boolean extended) {
        hold.fixed(extended);
        watch(hold);
    }

    /** How long a request may take that must be answered by {@code byNanos}. */
    private long timeoutNanos(long byNanos) {
        long most = settings.commandTimeoutNanos();
        return byNanos == NEVER ? most : Math.min(most, byNanos - clock.nanoTime());
    }

    /**
     * Ends a handle's hold as {@link #release} does, without waiting.
     *
     * @param onEnd called with whether the hold was released without a loss, on the executor of handles
     */
    public void releaseHandleLater(LockObject lock, Hold hold, long keptMillis, Consumer<Boolean> onEnd) {
        try {
            hold.keepFor(keptMillis);
            long sent = clock.nanoTime();
            // After an error the watchdog may release the hold too: the thread that begins the release first performs
            // it.
            long until = hold.beginRelease(sent);
            if (until == 0) {
                removesLost(hold);
                events.notifyHandle(() -> onEnd.accept(false));
                return;
            }
            MemoryEdge.publish();
            hold.names(handoff.successor(hold));
            handoff.release(hold, keepsTurn(hold, sent), until, inGoodOrder -> {
                if (!inGoodOrder) {
                    losses.ended(hold);
                }
                holds.remove(hold);
                // Notify the listeners on the thread for handles, since they may be slow.
                events.notifyHandle(() -> {
                    try {
                        if (inGoodOrder) {
                            events.released(lock.keys, hold, sent);
                        }
                    } finally {
                        onEnd.accept(inGoodOrder);
                    }
                });
            });
        } catch (Throwable e) {
            handoff.strand(hold);
            throw e;
        }
    }

    private void exit(LockObject lock, Hold hold, long byNanos) {
        exitInner(lock, hold, byNanos);
        if (!losses.isValid(hold)) {
            throw lost(hold);
        }
    }

    private void exitInner(LockObject lock, Hold hold, long byNanos) {
        int before = hold.count();
        boolean wasRenewed = hold.isRenewed();
        // Count first: the unlock counts even if an error comes, as with a lock of the JDK.
        hold.exited();
        if (wasRenewed && !hold.isRenewed()) {
            watch(hold);
        }
        if (!lock.own.localReentry() && isTaken(hold, before, byNanos)) {
            losses.taken(hold);
        }
    }

    /**
     * With {@code watchDeletions}, has the watchdog ask Redis once about a hold that is not renewed any more: the
     * request makes Redis watch the hold's key, if it does not yet.
     */
    private void watch(Hold hold) {
        if (settings.watchDeletions()) {
            long soon = clock.nanoTime() + Timing.UNWATCHED_NANOS;
            hold.renewAt(Math.min(hold.nextRenewalNanos(), soon));
            watchdog.wakeAt(soon);
        }
    }

    /** Counts the inner unlock in Redis; returns whether the hold is gone there. */
    private boolean isTaken(Hold hold, int before, long byNanos) {
        try {
            return Answer.isGone(monitored.run(Scripts.releaseInner(hold, before), timeoutNanos(byNanos)));
        } catch (RedisException e) {
            // The count in Redis is only a mirror; the hold is valid until its deadline.
            return false;
        }
    }

    /**
     * Ends a hold, and notifies listeners. The owner has finished with the hold, so if an error occurs here, the
     * watchdog continues the release. For a handle, call once.
     *
     * @param keptMillis how long after the beginning of the hold the lock stays taken; 0 to free it
     * @param byNanos when the caller stops waiting for Redis
     */
    public void release(LockObject lock, Hold hold, long keptMillis, long byNanos) {
        try {
            // Note the time first, so that after an error the watchdog releases the lock with the same time.
            hold.keepFor(keptMillis);
            StackSpace.ensure();
            long now = clock.nanoTime();
            if (!endInRedis(lock, hold, now, byNanos)) {
                throw unlockLost(hold);
            }
            events.released(lock.keys, hold, now);
        } catch (Throwable e) {
            handoff.strand(hold);
            throw e;
        }
    }

    /**
     * Ends a hold in Redis, without notifying listeners. After an error, the caller leaves the rest to the watchdog.
     *
     * @return false if the hold is lost: then the caller calls {@link Losses#ended}, and the hold stays until its
     *     unlock
     */
    boolean endInRedis(LockObject lock, Hold hold, long now, long byNanos) {
        Downgrade down = acquisitions.downgrade(hold);
        if (down == null) {
            return end(lock, hold, now, byNanos);
        }
        boolean found = false;
        try {
            hold.names(down.share());
            found = end(lock, hold, now, byNanos);
        } finally {
            down.goOn(acquisitions::acquire, found);
        }
        return found;
    }

    private boolean end(LockObject lock, Hold hold, long now, long byNanos) {
        long until = hold.beginRelease(now);
        if (until == 0) {
            losses.isValid(hold);
            return false;
        }
        MemoryEdge.publish();
        boolean found = true;
        try {
            if (hold.successor() == null) {
                hold.names(handoff.successor(hold));
            }
            Reply freed = hold.successor() == null && mayUseFastPath(lock, hold, now)
                    ? monitored.run(Scripts.free(hold), timeoutNanos(byNanos))
                    : null;
            if (freed != null && Answer.isFreed(freed)) {
                localQueue.exit(lock.keys, hold.attempt);
            } else if (freed == null) {
                found = handOn(lock, hold, now, until, byNanos, false);
            } else {
                lock.crowded = true;
                hold.names(handoff.successor(hold));
                found = handOn(lock, hold, now, until, byNanos, freed.resent());
            }
        } catch (RedisException e) {
            found = goesOnLater(new Ending(hold, now, until, byNanos), e);
        }
        if (found) {
            // Remove the hold only now: close() waits for holds that are being released, and must not return before a
            // successor that has left is out of Redis.
            holds.remove(hold);
        }
        return found;
    }

    /**
     * Whether one request may end a hold together with others: no thread of this client waits for the lock of this
     * hold.
     */
    public boolean mayEndWithOthers(LockObject lock, Hold hold) {
        return hold.count() == 1
                && !hold.isToKeep()
                && losses.isValid(hold)
                && localQueue.successor(lock.keys, hold.attempt) == null;
    }

    /** Begins the release of a hold, which Redis must answer by {@code byNanos}. Returns null if the hold is lost. */
    @Nullable
    public Ending beginEnd(Hold hold, long sent, long byNanos) {
        long until = hold.beginRelease(sent);
        MemoryEdge.publish();
        return until == 0 ? null : new Ending(hold, sent, until, byNanos);
    }

    /** Ends in this client a hold that a request for several holds has ended in Redis. */
    public void freed(LockObject lock, Ending ending) {
        localQueue.exit(lock.keys, ending.hold.attempt);
        holds.remove(ending.hold);
        events.released(lock.keys, ending.hold, ending.sentNanos);
    }

    /**
     * Ends a hold that the request for several holds did not end. After an error, the caller leaves the rest to the
     * watchdog.
     *
     * @param mayHaveRun whether a copy of the request for all holds may have ended it
     * @param failure why that request failed; null if the answer was that there may be waiters for this lock
     */
    public void end(LockObject lock, Ending ending, boolean mayHaveRun, @Nullable RedisException failure) {
        Hold hold = ending.hold;
        long sent = ending.sentNanos;
        boolean found;
        try {
            if (failure != null) {
                throw failure;
            }
            lock.crowded = true;
            hold.names(handoff.successor(hold));
            found = handOn(lock, hold, sent, ending.untilNanos, ending.byNanos, mayHaveRun);
        } catch (RedisException e) {
            found = goesOnLater(ending, e);
        }
        if (!found) {
            throw unlockLost(hold);
        }
        holds.remove(hold);
        events.released(lock.keys, hold, sent);
    }

    /** Whether the lock may go to a thread of this client before a waiter of another client that came earlier. */
    static boolean keepsTurn(Hold hold, long now) {
        return now - hold.turnStartNanos < Timing.LOCAL_TURN_NANOS;
    }

    /** Leaves a release without an answer to the background; returns whether the hold ended without a loss. */
    private boolean goesOnLater(Ending ending, RedisException failure) {
        Hold hold = ending.hold;
        handoff.releaseLater(hold, keepsTurn(hold, ending.sentNanos));
        // If only the confirmation of replicas is missing, Redis has run the release, and nothing was lost.
        return failure instanceof RedisException.Unacknowledged
                || clock.nanoTime() < ending.untilNanos
                || !hold.releasedTooLate();
    }

    /** Ends a hold in Redis and hands the lock on; false if the hold was gone there already. */
    private boolean handOn(LockObject lock, Hold hold, long sent, long until, long byNanos, boolean mayHaveRun) {
        Call call = handoff.releaseOf(hold, keepsTurn(hold, sent));
        long left = Math.min(sent + settings.commandTimeoutNanos(), byNanos) - clock.nanoTime();
        Reply reply = monitored.run(call, left);
        // GONE means that the hold was lost, unless an earlier copy of the release may have run.
        Answer answer = Answer.of(reply);
        if (answer == Answer.Word.GONE
                && !reply.resent()
                && !mayHaveRun
                && hold.releaseFailed(clock.nanoTime() >= until)) {
            return false;
        }
        lock.crowded = !(answer instanceof Answer.Freed freed) || freed.crowded();
        handoff.handOn(hold, answer, sent);
        return true;
    }

    /** Whether probably nobody waits behind a hold, so that the short script is tried first. */
    private boolean mayUseFastPath(LockObject lock, Hold hold, long now) {
        return !lock.crowded
                && !hold.isToKeep()
                && !hold.owner.isShared()
                // The short script writes the hold's own token, so it must not run if a later token was given out.
                && hold.lastToken() == 0
                && monitored.hasLines()
                && now - hold.turnStartNanos < Timing.SHORT_HOLD_NANOS;
    }

    private LockLostException unlockLost(Hold hold) {
        LockLostException exception = lost(hold);
        unlockedAfterLoss(hold);
        return exception;
    }

    private void unlockedAfterLoss(Hold hold) {
        if (hold.unlockedAfterLoss()) {
            holds.remove(hold);
        }
    }

    private LockLostException lost(Hold hold) {
        // Call `ended` again: the thread that found the loss may have met an error before it notified the listeners.
        losses.ended(hold);
        return Losses.exception(hold);
    }
}
