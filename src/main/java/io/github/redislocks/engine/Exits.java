package io.github.redislocks.engine;

import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.MemoryEdge;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.GivingUp;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LocalHold;
import io.github.redislocks.state.Residence;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.LocalQueue;
import io.github.redislocks.waiting.Residences;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.watchdog.Watchdog;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a hold ends by its owner: counted down, released and handed on, undone, or together with others. One for each
 * client; the lock is an argument. See {@link LockEngine} for the invariants.
 */
final class Exits {

    /** In place of a time by which Redis has to have answered: each request has its own. */
    static final long NEVER = Long.MAX_VALUE;

    /**
     * A hold whose end has begun.
     *
     * @param sentNanos when it began
     * @param untilNanos the deadline of the hold
     * @param byNanos by when Redis has to have answered
     */
    record Ending(Hold hold, long sentNanos, long untilNanos, long byNanos) {}

    private final Clock clock;
    private final Settings settings;
    private final Redis redis;
    private final MonitoredRedis monitored;
    private final Holds holds;
    private final LocalQueue localQueue;
    private final Handoff handoff;
    private final Losses losses;
    private final Residences residences;
    private final Watchdog watchdog;
    private final EventNotifier events;

    Exits(RedisAccess access, WaitingParts parts, Redis redis, Holds holds, EventNotifier events) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.redis = redis;
        this.monitored = access.monitored();
        this.holds = holds;
        this.localQueue = parts.localQueue();
        this.handoff = parts.handoff();
        this.losses = parts.losses();
        this.residences = parts.residences();
        this.watchdog = parts.watchdog();
        this.events = events;
    }

    /** Unlocks a hold once; without Redis, and in the background, if it has not answered by the given time. */
    void unlock(LockObject lock, Hold hold, long byNanos) {
        long now = clock.nanoTime();
        if (!losses.isValid(hold, now)) {
            throw unlockLost(hold);
        }
        if (hold.count() > 1) {
            exit(lock, hold, byNanos);
        } else if (hold instanceof LocalHold local) {
            passOn(lock, local, now, byNanos);
        } else {
            release(lock, hold, 0, byNanos);
        }
    }

    /**
     * Releases a handle's hold; to be called once.
     *
     * @param keptMillis how long after the hold began the lock stays taken; 0 if not at all
     */
    void releaseHandle(LockObject lock, Hold hold, long keptMillis) {
        release(lock, hold, keptMillis, NEVER);
    }

    /**
     * Undoes an acquisition whose caller is not told of it. False if there is nothing but the hold itself, which has to
     * be released.
     */
    boolean undo(LockObject lock, Hold hold, long byNanos) {
        if (hold.count() > 1) {
            if (isCounted(lock, hold) && isTaken(hold, byNanos)) {
                losses.taken(hold);
            }
            exited(hold);
            return true;
        }
        if (losses.isValid(hold)) {
            return false;
        }
        losses.ended(hold);
        holds.remove(hold);
        return true;
    }

    /** Tells the listeners that a hold was released whose caller was not told of it. */
    void undone(LockObject lock, Hold hold) {
        events.released(lock.keys, hold, clock.nanoTime());
    }

    /** Ends the renewal of a hold: it lasts for its lease from now on, or if Redis does not answer, as it is. */
    void fix(LockObject lock, Hold hold, long byNanos) {
        if (hold.isLocal()) {
            // It lasts for as long as the client keeps the lock.
            return;
        }
        boolean extended = false;
        try {
            long sent = clock.nanoTime();
            long lease = hold.leaseAt(sent, lock.own.leaseMillis());
            boolean outlasts = hold.mayOutlast();
            hold.asks(lease);
            Call call = Scripts.reenter(hold, 0, lease);
            Reply reply = monitored.run(call.with(settings.acks()), timeoutNanos(byNanos));
            if (Answer.isKept(reply)) {
                extended = hold.extend(clock.nanoTime(), sent, lease);
                hold.isTold(outlasts || !extended || reply.resent());
            } else {
                losses.taken(hold);
            }
        } catch (RedisException e) {
            // It has what is left of its last renewal.
        }
        losses.endIfProlonged(hold);
        hold.fixed(extended);
        watch(hold);
    }

    /** How long a request may take that is to be answered by the given time. */
    private long timeoutNanos(long byNanos) {
        long most = settings.commandTimeoutNanos();
        return byNanos == NEVER ? most : Math.min(most, byNanos - clock.nanoTime());
    }

    /**
     * As {@link #releaseHandle}, without waiting.
     *
     * @param onEnd told whether it was released in good order, by the thread that tells handles
     */
    void releaseHandleLater(LockObject lock, Hold hold, long keptMillis, Consumer<Boolean> onEnd) {
        try {
            hold.keepFor(keptMillis);
            long sent = clock.nanoTime();
            // Also of one that an error left to the watchdog.
            long until = hold.beginRelease(sent);
            if (until == 0) {
                hold.keepFor(0);
                losses.isValid(hold);
                losses.ended(hold);
                holds.remove(hold);
                tell(lock, hold, sent, false, onEnd);
                return;
            }
            MemoryEdge.publish();
            hold.names(handoff.successor(hold));
            handoff.release(hold, keepsTurn(hold, sent), until, inGoodOrder -> {
                if (!inGoodOrder) {
                    losses.ended(hold);
                }
                holds.remove(hold);
                tell(lock, hold, sent, inGoodOrder, onEnd);
            });
        } catch (Throwable e) {
            handoff.strand(hold);
            throw e;
        }
    }

    /** By the thread for that, since listeners may be slow. */
    private void tell(LockObject lock, Hold hold, long sentNanos, boolean released, Consumer<Boolean> onEnd) {
        events.notifyHandle(() -> {
            try {
                if (released) {
                    events.released(lock.keys, hold, sentNanos);
                }
            } finally {
                onEnd.accept(released);
            }
        });
    }

    private void exit(LockObject lock, Hold hold, long byNanos) {
        try {
            if (isCounted(lock, hold) && isTaken(hold, byNanos)) {
                losses.taken(hold);
            }
        } catch (Error e) {
            // Counted as unlocked, as the JDK's lock would be if an error came after its unlock.
            hold.exited();
            throw e;
        }
        if (!losses.isValid(hold)) {
            throw unlockLost(hold);
        }
        exited(hold);
    }

    private void exited(Hold hold) {
        boolean wasRenewed = hold.isRenewed();
        hold.exited();
        if (wasRenewed && !hold.isRenewed()) {
            watch(hold);
        }
    }

    /** Whether Redis counts the re-entries. */
    private static boolean isCounted(LockObject lock, Hold hold) {
        return !lock.own.localReentry() && !hold.isLocal();
    }

    /** Has a hold that is not renewed any more asked for once: it may not be watched yet. */
    private void watch(Hold hold) {
        if (settings.watchDeletions()) {
            long soon = clock.nanoTime() + Timing.UNWATCHED_NANOS;
            hold.renewAt(Math.min(hold.nextRenewalNanos(), soon));
            watchdog.wakeAt(soon);
        }
    }

    /** Counts the inner unlock in Redis; returns whether the hold is gone there. */
    private boolean isTaken(Hold hold, long byNanos) {
        try {
            return Answer.isGone(monitored.run(Scripts.releaseInner(hold), timeoutNanos(byNanos)));
        } catch (RedisException e) {
            // The count in Redis is only a mirror; the hold is valid until its deadline.
            return false;
        }
    }

    /**
     * Ends a hold. The thread has finished with the hold, so if an error occurs here, the watchdog continues the
     * release.
     */
    private void release(LockObject lock, Hold hold, long keptMillis, long byNanos) {
        try {
            // First: whoever goes on after an error has to know.
            hold.keepFor(keptMillis);
            StackSpace.ensure();
            endInRedis(lock, hold, clock.nanoTime(), byNanos);
        } catch (Throwable e) {
            handoff.strand(hold);
            throw e;
        }
    }

    private void endInRedis(LockObject lock, Hold hold, long now, long byNanos) {
        long until = hold.beginRelease(now);
        if (until == 0) {
            hold.keepFor(0);
            losses.isValid(hold);
            throw unlockLost(hold);
        }
        MemoryEdge.publish();
        release(lock, hold, now, until, byNanos);
    }

    /** Ends a thread's hold under a residence, which is kept, or released if others want it. */
    private void passOn(LockObject lock, LocalHold local, long now, long byNanos) {
        Residence residence = local.residence;
        GivingUp givingUp = null;
        try {
            StackSpace.ensureLocal();
            long until = local.beginRelease(now);
            if (until == 0) {
                losses.isValid(local);
                throw unlockLost(local);
            }
            Hold lease = local.inRedis();
            LockGivenUp.Reason why = residences.whyOver(residence, lease, now, residence.isWanted());
            if (why != null) {
                givingUp = residences.givingUp(residence, lease, why);
                releaseLease(lock, local, lease, now, byNanos);
            } else {
                residences.kept(residence, lock.own.residencyNanos(), now);
            }
        } catch (LockLostException e) {
            throw e;
        } catch (Throwable e) {
            handoff.strand(local);
            throw e;
        }
        residence.passOn(now);
        residences.turnEnded(residence);
        // First: of what the listeners do now this is not to tell the time.
        residences.givenUp(givingUp);
        if (events.isHeard()) {
            events.released(lock.keys, local, now);
        }
    }

    private void releaseLease(LockObject lock, LocalHold local, Hold lease, long now, long byNanos) {
        StackSpace.ensure();
        try {
            endInRedis(lock, lease, now, byNanos);
            local.residence.ended(lease);
        } catch (LockLostException e) {
            LockLost.Reason reason = lease.lossReason();
            if (local.lostInRelease(reason == null ? LockLost.Reason.EXPIRED : reason)) {
                losses.ended(local);
            }
            // Once more: whoever declared the loss before the thread's hold had ended could not do all.
            losses.ended(lease);
            throw unlockLost(local);
        }
    }

    /**
     * Releases a lease for a thread that has the turn and cannot become the holder under that. Returns when Redis has
     * answered, or did not in time, so that the background goes on.
     */
    void giveUp(LockObject lock, Residence residence, Hold lease, WaitLimit limit) {
        GivingUp told = residences.givingUp(residence, lease, LockGivenUp.Reason.NO_TOKEN);
        try {
            long now = clock.nanoTime();
            endInRedis(lock, lease, now, now + limit.timeoutNanos(now, settings.commandTimeoutNanos()));
        } catch (LockLostException e) {
            // No thread had the lock, so none is told.
            told = null;
        } catch (Throwable e) {
            handoff.strand(lease);
            throw e;
        } finally {
            residence.ended(lease);
        }
        residences.givenUp(told);
    }

    /** Whether a hold may end with others by one request: nobody here waits for its lock. */
    boolean mayEndWithOthers(LockObject lock, Hold hold) {
        return hold.count() == 1
                && !hold.isLocal()
                && !hold.isToKeep()
                && losses.isValid(hold)
                && localQueue.successor(lock.keys, hold.attempt) == null;
    }

    /** Begins the end of a hold, which is to be answered by the given time; null if it is lost. */
    @Nullable
    Ending beginEnd(Hold hold, long sent, long byNanos) {
        long until = hold.beginRelease(sent);
        MemoryEdge.publish();
        return until == 0 ? null : new Ending(hold, sent, until, byNanos);
    }

    /** Ends here a hold that has ended in Redis, with others. */
    void freed(LockObject lock, Ending ending) {
        localQueue.exit(lock.keys, ending.hold.attempt);
        holds.remove(ending.hold);
        events.released(lock.keys, ending.hold, ending.sentNanos);
    }

    /**
     * Ends a hold that did not end with others.
     *
     * @param mayHaveRun whether a copy of the request for all of them may have ended it
     * @param failure what became of that request; null if the answer was that somebody may wait for this lock
     */
    void end(LockObject lock, Ending ending, boolean mayHaveRun, @Nullable RedisException failure) {
        Hold hold = ending.hold;
        long sent = ending.sentNanos;
        try {
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
            ended(lock, hold, sent, found);
        } catch (Throwable e) {
            handoff.strand(hold);
            throw e;
        }
    }

    private void release(LockObject lock, Hold hold, long sent, long until, long byNanos) {
        boolean found = true;
        try {
            hold.names(handoff.successor(hold));
            Reply freed = hold.successor() == null && mayUseFastPath(lock, hold, sent)
                    ? monitored.run(Scripts.free(hold), timeoutNanos(byNanos))
                    : null;
            if (freed != null && Answer.isFreed(freed)) {
                localQueue.exit(lock.keys, hold.attempt);
            } else if (freed == null) {
                found = handOn(lock, hold, sent, until, byNanos, false);
            } else {
                lock.crowded = true;
                hold.names(handoff.successor(hold));
                found = handOn(lock, hold, sent, until, byNanos, freed.resent());
            }
        } catch (RedisException e) {
            found = goesOnLater(new Ending(hold, sent, until, byNanos), e);
        }
        ended(lock, hold, sent, found);
    }

    /** Whether the lock may go to a thread of this JVM before one of another, which has come earlier. */
    private static boolean keepsTurn(Hold hold, long now) {
        return now - hold.turnStartNanos < Timing.LOCAL_TURN_NANOS;
    }

    /** Leaves a release without an answer to the background; whether the hold ended in good order nevertheless. */
    private boolean goesOnLater(Ending ending, RedisException failure) {
        Hold hold = ending.hold;
        handoff.releaseLater(hold, handoff.releaseOf(hold, keepsTurn(hold, ending.sentNanos)), hold.successor());
        // Redis has done it if only replicas are missing.
        return failure instanceof RedisException.Unacknowledged
                || clock.nanoTime() < ending.untilNanos
                || !hold.releasedTooLate();
    }

    private void ended(LockObject lock, Hold hold, long sent, boolean found) {
        if (!found) {
            losses.ended(hold);
            throw unlockLost(hold);
        }
        // Not earlier: close() waits for holds that are being released, and a successor that has left must be taken
        // out of Redis first.
        holds.remove(hold);
        if (!(hold.owner instanceof Residence)) {
            events.released(lock.keys, hold, sent);
        }
    }

    /** Ends a hold in Redis and hands the lock on; false if the hold was gone there already. */
    private boolean handOn(LockObject lock, Hold hold, long sent, long until, long byNanos, boolean mayHaveRun) {
        Call call = handoff.releaseOf(hold, keepsTurn(hold, sent));
        long left = Math.min(sent + settings.commandTimeoutNanos(), byNanos) - clock.nanoTime();
        Reply reply = monitored.run(call, left);
        hold.keepFor(0);
        // GONE, and no earlier copy of the release can have run: the hold was lost.
        Answer answer = Answer.of(reply);
        if (answer == Answer.Word.GONE
                && !reply.resent()
                && !mayHaveRun
                && hold.releaseFailed(clock.nanoTime() >= until)) {
            return false;
        }
        lock.crowded = !(answer instanceof Answer.Freed freed) || freed.crowded();
        handoff.handOn(lock.keys, hold.attempt, hold.successor(), hold.turnStartNanos, answer, sent);
        return true;
    }

    /** Whether probably nobody waits behind a hold, so that the short script is tried first. */
    private boolean mayUseFastPath(LockObject lock, Hold hold, long now) {
        return !lock.crowded
                && !hold.isToKeep()
                // The short script writes the token of the hold itself.
                && !(hold.owner instanceof Residence residence && residence.lastToken() > hold.token)
                && redis.hasLines()
                && now - hold.turnStartNanos < Timing.SHORT_HOLD_NANOS;
    }

    private LockLostException unlockLost(Hold hold) {
        // An error may have kept the thread that found the loss from telling the listeners.
        losses.ended(hold);
        LockLostException exception = Losses.exception(hold);
        if (hold instanceof LocalHold local && local.isLost()) {
            // Whoever declared the loss may not have come so far, and what is unlocked next is the hold below it.
            local.residence.lost(local);
        }
        if (hold.unlockedAfterLoss()) {
            holds.remove(hold);
        }
        return exception;
    }
}
