package io.github.redislocks.lease;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Footprint;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Keeper;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.LossSubject;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Decides whether holds are still valid. After a loss, passes on the local turn and notifies the listeners, once. */
public final class Losses {

    /** The pause before a report that failed is tried again. */
    static final long UNTOLD_NANOS = 100_000_000;
    /** The time between two checks whether the thread of a lost hold is still alive. */
    static final long LOOK_AGAIN_NANOS = 60_000_000_000L;

    private final Clock clock;
    private final Turns turns;
    final EventNotifier events;
    private final Runnable onProlonged;
    private final AtomicLong lastLostAttempt = new AtomicLong();
    /** Lost holds that a renewal may have prolonged in Redis, or may still prolong. */
    private final Queue<Hold> prolonged = new ConcurrentLinkedQueue<>();

    /** {@code onProlonged} runs when a lost hold has to be ended in Redis: it wakes the watchdog. */
    public Losses(Clock clock, Turns turns, EventNotifier events, Runnable onProlonged) {
        this.clock = clock;
        this.turns = turns;
        this.events = events;
        this.onProlonged = onProlonged;
    }

    /** The part of the local queue that a loss needs. */
    public interface Turns {

        /** Ends the local turn of an attempt at a lock, if it has the turn. */
        void exit(LockKeys keys, long attempt);
    }

    /** Whether a hold is valid now. The first caller that finds the hold's deadline passed declares the loss. */
    public boolean isValid(Hold hold) {
        return isValid(hold, clock.nanoTime());
    }

    /** As {@link #isValid(Hold)}, for a caller that has just read the present time {@code now}. */
    public boolean isValid(Hold hold, long now) {
        if (hold.isValid(now)) {
            return true;
        }
        if (hold.loseIfPast(now)) {
            ended(hold);
        }
        return false;
    }

    /**
     * Declares a hold lost, since Redis does not have it any more. If the deadline has passed too, the deadline is the
     * reason of the loss. A hold that has ended stays as it is.
     */
    public void taken(Hold hold) {
        if (isValid(hold)) {
            lose(hold, LockLost.Reason.TAKEN);
        }
    }

    /** Declares a hold lost, unless it has ended already; returns true if this call ended it. */
    public boolean lose(Hold hold, LockLost.Reason reason) {
        boolean first = hold.lose(reason);
        if (first) {
            ended(hold);
        }
        return first;
    }

    /** Ends the local turn and notifies the listeners of a loss, once. After an error the watchdog does it later. */
    public void ended(Hold hold) {
        LockLost.Reason reason = hold.lossReason();
        if (reason == null || !hold.beginTelling()) {
            return;
        }
        boolean done = false;
        try {
            Keeper.FollowUp by = hold.keeper().lost(hold, reason);
            if (by == Keeper.FollowUp.CLIENT) {
                noteLost(hold.attempt);
                endTurn(hold);
                tell(hold.loss(reason), hold);
            }
            done = by != Keeper.FollowUp.LATER;
            if (done && hold.isToEndInRedis()) {
                done = false;
                prolonged.add(hold);
                done = true;
                onProlonged.run();
            }
        } finally {
            hold.endTelling(done);
        }
    }

    /** When to look again at the record of a loss whose thread is alive. */
    public static long nextLook(Held lost, long now) {
        return now + (lost.isUntold() ? UNTOLD_NANOS : LOOK_AGAIN_NANOS);
    }

    /** Whether lost holds have still to be ended in Redis. */
    public boolean hasProlonged() {
        return !prolonged.isEmpty();
    }

    /** The next lost hold that has to be ended in Redis; null if there is none. Called by the watchdog. */
    @Nullable
    Hold nextProlonged() {
        return prolonged.peek();
    }

    /** Notes that the hold which {@link #nextProlonged} returned is being ended in Redis. */
    void isSeenTo() {
        prolonged.poll();
    }

    /** Ends the local turn of a lost hold, unless its release still goes on: then the release ends the turn. */
    public void endTurn(Hold hold) {
        if (!hold.isReleasedTooLate()) {
            turns.exit(hold.keys(), hold.attempt);
        }
    }

    /** Notes that the hold of an attempt is lost. Call before the turn ends. */
    public void noteLost(long attempt) {
        lastLostAttempt.accumulateAndGet(attempt, Math::max);
    }

    public void tell(LockLost loss, LossSubject subject) {
        events.lost(loss, subject);
    }

    /** Notifies the listeners, once for each hold, that the hold soon reaches its {@code maxHold}. */
    void isEnding(Hold hold, long now) {
        // Set the mark first: otherwise, after an error below, every inspection would notify the listeners again.
        hold.warned();
        events.expiring(hold, now);
    }

    /**
     * The highest attempt whose hold was lost after lock() had returned. If Redis still has a hold of a later attempt,
     * lock() never returned that hold, so its end is no loss.
     */
    public long lastLostAttempt() {
        return lastLostAttempt.get();
    }

    /** Whether a hold was lost after lock() had returned: then a leave must report that to the next holder. */
    public boolean hasLost(Attempt attempt) {
        Footprint.Possession had = attempt.had();
        return had != null && had.isLost();
    }

    public void forced(LockKeys keys, long token, String clientId) {
        events.forced(keys, token, clientId);
    }

    /** Waits until the listeners have been notified of the losses so far, at most for {@code limit}. */
    public void awaitTold(Duration limit) {
        events.awaitTold(limit);
    }

    /** Makes the exception that says how the calling thread lost this hold. */
    public static LockLostException exception(Held hold) {
        LockLost.Reason reason = hold.lossReason();
        return new LockLostException(hold.loss(reason == null ? LockLost.Reason.EXPIRED : reason));
    }
}
