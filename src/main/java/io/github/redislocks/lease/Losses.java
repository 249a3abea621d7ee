package io.github.redislocks.lease;

import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** Whether holds still count, and what follows once from the loss of one. */
public final class Losses {

    private final Clock clock;
    private final Turns turns;
    private final EventNotifier events;
    private final AtomicLong lastLostAttempt = new AtomicLong();

    public Losses(Clock clock, Turns turns, EventNotifier events) {
        this.clock = clock;
        this.turns = turns;
        this.events = events;
    }

    /** The local queue, as far as a loss concerns it. */
    public interface Turns {

        /** Ends the turn of an attempt at a lock, if it has it. */
        void exit(LockKeys keys, long attempt);
    }

    /** Whether a hold can be relied upon now. The first caller that sees a deadline in the past declares the loss. */
    public boolean isValid(Hold hold) {
        long now = clock.nanoTime();
        if (hold.isValid(now)) {
            return true;
        }
        if (hold.loseIfPast(now)) {
            ended(hold);
        }
        return false;
    }

    /** Declares a hold lost, unless it has ended otherwise. */
    public boolean lose(Hold hold, LockLost.Reason reason) {
        boolean first = hold.lose(reason);
        if (first) {
            ended(hold);
        }
        return first;
    }

    /**
     * Does what follows once from a loss: ends its turn in the local queue, and tells of it. If that is prevented by an
     * error, the watchdog does it.
     */
    public void ended(Hold hold) {
        LockLost.Reason reason = hold.lossReason();
        if (reason == null || !hold.beginTelling()) {
            return;
        }
        boolean done = false;
        try {
            lastLostAttempt(hold.attempt);
            if (!hold.isReleasedTooLate()) {
                turns.exit(hold.keys(), hold.attempt);
            }
            events.lost(hold.loss(reason), hold);
            done = true;
        } finally {
            hold.endTelling(done);
        }
    }

    private void lastLostAttempt(long attempt) {
        long before = lastLostAttempt.get();
        while (before < attempt && !lastLostAttempt.compareAndSet(before, attempt)) {
            before = lastLostAttempt.get();
        }
    }

    /**
     * The highest attempt whose hold was lost after lock() had returned. What is left of a later attempt is no loss.
     */
    public long lastLostAttempt() {
        return lastLostAttempt.get();
    }

    /** Whether the hold of an attempt was lost after lock() had returned: then no leave may hide the loss. */
    public boolean hasLost(Attempt attempt) {
        Attempt.Possession had = attempt.had();
        return had != null && had.isLost();
    }

    /** Tells that so many holds were confirmed. */
    void renewed(int count) {
        events.renewed(count);
    }

    /** Has the listener told of losses of which it could not be told, for want of a thread. */
    public void tellLosses() {
        events.startThreads();
    }

    /** Lets the losses so far be told, for a time. */
    public void awaitTold(Duration limit) {
        events.awaitTold(limit);
    }
}
