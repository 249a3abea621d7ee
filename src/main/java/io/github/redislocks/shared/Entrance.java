package io.github.redislocks.shared;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.Availability;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.BatchDriver;
import io.github.redislocks.waiting.Step;
import java.util.concurrent.locks.LockSupport;

/**
 * The wait of readers for a share, by one lock object. A reader waits in its cell, and asks Redis for a share unless
 * another reader does.
 */
final class Entrance {

    /** How long a thread that tries sleeps between two looks at what another reader has learnt. */
    private static final long TRY_PAUSE_NANOS = 20_000;
    /** How long a reader sleeps at most, since the thread that was to wake it may have met an error. */
    private static final long LOOK_NANOS = Timing.HEARTBEAT_MILLIS * 1_000_000;

    private final ShareLock lock;
    private final Shares all;
    private final Sharer sharer;
    final Clock clock;

    Entrance(ShareLock lock, Shares all, Sharer sharer) {
        this.lock = lock;
        this.all = all;
        this.sharer = sharer;
        this.clock = all.clock;
    }

    /** Waits for a share from now on. */
    void waits(Cell cell) {
        cell.waits(clock.nanoTime());
    }

    /** Leaves after a wait without success, or after an error. */
    void giveUp(Cell cell) {
        leaves(cell);
        sharer.wakeNext();
    }

    /** Ends a reader's wait, or takes the reader out of its share; then forgets the cell if the reader is a handle. */
    void leaves(Cell cell) {
        Share entered = cell.share();
        if (!cell.waitsNoMore() && entered == null) {
            entered = cell.share();
        }
        if (entered != null && cell.leave(entered)) {
            all.left(sharer, entered);
        }
        ReadHold loss = cell.loss();
        if (loss != null) {
            // No caller had the share, so there is nothing to unlock.
            cell.unlockedAfterLoss();
        }
        if (cell.owner instanceof HandleOwner) {
            sharer.forget(cell);
        }
    }

    /**
     * Waits until the reader is in a share, and asks Redis for one when no other reader does. Returns false if the time
     * is over.
     *
     * @param asked set to true if the thread asked
     */
    boolean await(Cell cell, WaitLimit limit, boolean[] asked) throws InterruptedException {
        while (true) {
            limit.throwIfInterrupted();
            long now = clock.nanoTime();
            long next = next(cell, limit, now);
            if (next == Step.ENDED) {
                return !cell.isWaiting();
            } else if (next == Step.ASK) {
                asked[0] = true;
                boolean granted = false;
                try {
                    granted = ask(cell, limit);
                } finally {
                    sharer.endsAsking();
                }
                if (!granted) {
                    return !cell.isWaiting();
                }
            } else if (next > 0 && limit.waits()) {
                clock.parkFrom(now, sharer, next);
            } else if (next > 0) {
                LockSupport.parkNanos(sharer, next);
            }
        }
    }

    /**
     * Returns what a reader that waits does next: {@link Step#ENDED} if it was let in, or has no more time;
     * {@link Step#ASK} if it has become the asker; else for how many ns there is nothing to do unless it is woken.
     */
    long next(Cell cell, WaitLimit limit, long now) {
        if (sharer.letIn(cell, now)) {
            return Step.ENDED;
        }
        // The share may have been closed while this reader was inside for a moment.
        all.left(sharer, sharer.share());
        Share present = sharer.share();
        if (present != null && present.isOpen() && !all.losses.isValid(present.hold, now)) {
            sharer.ended(present.hold);
            return 0;
        }
        throwIfAway(cell, limit, now);
        if (sharer.beginsAsking(cell.owner)) {
            return Step.ASK;
        }
        long left = limit.remaining(now);
        if (left <= 0 || (!limit.waits() && all.isKnownToBeBusy(sharer, limit.beganNanos()))) {
            return Step.ENDED;
        }
        return limit.waits() ? Math.min(left, LOOK_NANOS) : TRY_PAUSE_NANOS;
    }

    /** Asks Redis for a share, on behalf of all readers that wait; returns false if the lock was busy. */
    private boolean ask(Cell cell, WaitLimit limit) throws InterruptedException {
        try {
            Hold hold = lock.attempt(limit);
            if (hold != null) {
                all.begin(sharer, cell, hold);
            }
            return hold != null;
        } catch (Shares.Superseded e) {
            // A downgrade of this client makes the share, and lets this thread in.
            return true;
        }
    }

    /** Begins to ask Redis for a share without waiting, for a handle that has become the asker. */
    BatchDriver asks(WaitLimit limit) {
        BatchDriver request = null;
        boolean begun = false;
        try {
            request = lock.unattendedAttempt(limit);
            request.begin();
            begun = true;
            return request;
        } finally {
            if (!begun) {
                if (request != null) {
                    request.strand();
                }
                sharer.endsAsking();
            }
        }
    }

    /** Begins the share for which a handle has asked. */
    void begin(Cell cell, Hold hold) {
        all.begin(sharer, cell, hold);
    }

    /** Ends the part of the asker. */
    void endsAsking() {
        sharer.endsAsking();
    }

    /**
     * Throws if another reader has found that Redis has been away for longer than this reader waits through an outage.
     * Otherwise all readers that wait would ask one after the other, each until its request fails.
     */
    private void throwIfAway(Cell cell, WaitLimit limit, long now) {
        Availability server = all.monitored.of(sharer.keys.lock());
        if (!limit.isTimed() && server.failedSince(cell.usedNanos()) && limit.isPast(server.age(now))) {
            throw notAcquired(server, now - cell.usedNanos());
        }
    }

    private LockUnavailableException notAcquired(Availability server, long triedNanos) {
        return all.unavailable.notAcquired(sharer.keys, triedNanos, false, server.cause());
    }

    /**
     * Throws if the time of a reader ended while another reader asked, and Redis does not answer. A try that does not
     * wait has its whole time for Redis' answer.
     */
    void checkOutage(boolean asked, WaitLimit limit) {
        Availability server = all.monitored.of(sharer.keys.lock());
        long now = clock.nanoTime();
        boolean away = limit.waits()
                ? sharer.share() == null && server.age(now) > 0
                : limit.remaining(now) <= 0 && !all.isKnownToBeBusy(sharer, limit.beganNanos());
        if (!asked && away) {
            throw notAcquired(server, now - limit.beganNanos());
        }
    }
}
