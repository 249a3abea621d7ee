package io.github.redislocks.shared;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.engine.LockEngine;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.health.Availability;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A read lock object. While the client has an open share, a thread enters and leaves without a request. Else it waits
 * in its cell, and asks Redis for a share unless another thread does.
 */
public final class ShareLock extends Sync {

    private static final long TRY_PAUSE_NANOS = 20_000;

    private final Shares all;
    private final Sharer sharer;
    private final Clock clock;
    /** The lock for writers. */
    private final Sync writer;

    ShareLock(LockEngine engine, Sync writer, Settings settings, Shares all, Sharer sharer) {
        // Each attempt of a sharer has its own place in Redis, so it is fair.
        super(engine, writer.keys(), true, settings);
        this.writer = writer;
        this.all = all;
        this.sharer = sharer;
        this.clock = all.clock;
    }

    private Cell cell() {
        return sharer.cell(all.owners.caller());
    }

    @Override
    protected @Nullable Held enterHere() {
        // Without listeners, nothing that follows an entry needs more stack than what precedes the entry.
        boolean heard = isHeard();
        if (heard) {
            StackSpace.ensureLocal();
        }
        Cell cell = cell();
        long now = clock.nanoTime();
        Share held = cell.share();
        if (held != null) {
            return held.hold.isValid(now) ? again(cell, held.hold) : null;
        }
        if (!cell.isOut() || (cell.due() != null && !mayRelock())) {
            return null;
        }
        Share entered = sharer.enter(cell, now);
        if (entered == null) {
            all.left(sharer, sharer.share());
            return null;
        }
        return heard ? published(cell, entered, now) : entered.hold;
    }

    private static <H extends Held> H again(Cell cell, H held) {
        if (cell.count() == Integer.MAX_VALUE) {
            throw new Error("Maximum lock count exceeded");
        }
        cell.entersAgain();
        return held;
    }

    private Held published(Cell cell, Share entered, long began) {
        ReadHold view = cell.view(entered, false);
        all.events.acquired(keys(), view, began, all.events.begun(keys()));
        return view;
    }

    @Override
    protected @Nullable Held acquire(WaitLimit limit) throws InterruptedException {
        try {
            throwIfInterrupted(limit);
            Cell cell = cell();
            Share held = cell.share();
            if (held != null && isValid(cell, held)) {
                return again(cell, held.hold);
            }
            Held inside = validWrite(cell);
            if (inside != null) {
                return again(cell, inside);
            }
            ReadHold loss = cell.loss();
            if (cell.due() != null && !mayRelock()) {
                throw Losses.exception(cell.due());
            }
            if (loss != null) {
                cell.setAside(loss);
            }
            Held write = writer.held();
            if (write != null) {
                return enterInside(cell, write);
            }
            return isHeard() ? heard(() -> read(cell, limit)) : read(cell, limit);
        } finally {
            limit.restore();
        }
    }

    /** Returns true if the thread reads under a valid share; else its cell has the loss. */
    private boolean isValid(Cell cell, Share held) {
        if (all.losses.isValid(held.hold)) {
            return true;
        }
        LockLost.Reason reason = held.hold.lossReason();
        // The thread that declared the loss may not have come to this cell yet.
        sharer.tell(cell.lose(held.hold, Objects.requireNonNull(reason, "A share ended with a thread inside")));
        return false;
    }

    /** The write hold inside which the thread reads, if it is valid; else null, and the cell has the loss. */
    private @Nullable Held validWrite(Cell cell) {
        Held write = cell.write();
        if (write == null || writer.isValid(write)) {
            return write;
        }
        LockLost.Reason reason = write.lossReason();
        // A Condition, or a release of several locks, may have ended the write hold without a loss.
        cell.losesWrite((Hold) write, reason == null ? LockLost.Reason.UNCONFIRMED : reason);
        return null;
    }

    /** Reads inside the calling thread's write hold, without a request. */
    private Held enterInside(Cell cell, Held write) {
        if (!(write instanceof Hold)) {
            throw new IllegalMonitorStateException("The calling thread holds the lock \"" + Shown.of(keys().name())
                    + "\" by a residency, and wants to read inside it: the client keeps such a hold for all its threads."
                    + " Lock the write lock of the read-write lock instead.");
        }
        cell.enterInside(write, clock.nanoTime());
        return write;
    }

    /** Waits for a share; null if the lock was busy. */
    private @Nullable Held read(Cell cell, WaitLimit limit) throws InterruptedException {
        long began = clock.nanoTime();
        StackSpace.ensure();
        boolean done = false;
        boolean[] asked = new boolean[1];
        try {
            limit.begin(began);
            cell.waits(began);
            if (!await(cell, limit, asked) && cell.waitsNoMore()) {
                checkOutage(asked[0], began);
                return null;
            }
            done = true;
        } finally {
            if (!done) {
                giveUp(cell);
            }
        }
        Share entered = cell.share();
        if (entered != null) {
            return isHeard() ? cell.view(entered, asked[0]) : entered.hold;
        }
        return cell.loss();
    }

    /** Leaves after a wait without success, or after an error. */
    private void giveUp(Cell cell) {
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
        sharer.wakeNext();
    }

    /**
     * Waits until another thread has let this one in, and asks Redis in turn. Returns false if the time is over.
     *
     * @param asked set to true if the thread asked
     */
    private boolean await(Cell cell, WaitLimit limit, boolean[] asked) throws InterruptedException {
        while (true) {
            long now = clock.nanoTime();
            if (sharer.letIn(cell, now)) {
                return true;
            }
            // The share may have been closed while this thread was inside for a moment.
            all.left(sharer, sharer.share());
            limit.throwIfInterrupted();
            Share present = sharer.share();
            if (present != null && present.isOpen() && !all.losses.isValid(present.hold, now)) {
                sharer.ended(present.hold);
            } else if (sharer.beginsAsking()) {
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
            } else if (limit.remaining(now) <= 0
                    || (!limit.waits() && all.isKnownToBeBusy(sharer, limit.beganNanos()))) {
                return !cell.isWaiting();
            } else if (limit.waits()) {
                clock.parkFrom(now, sharer, limit.remaining(now));
            } else {
                LockSupport.parkNanos(sharer, TRY_PAUSE_NANOS);
            }
        }
    }

    /** Asks Redis for a share, on behalf of all threads that wait; returns false if the lock was busy. */
    private boolean ask(Cell cell, WaitLimit limit) throws InterruptedException {
        try {
            Hold hold = attempt(sharer, limit, null);
            if (hold != null) {
                all.begin(sharer, cell, hold);
            }
            return hold != null;
        } catch (Shares.Superseded e) {
            // A downgrade of this client makes the share, and lets this thread in.
            return true;
        }
    }

    /** Throws if the thread waited for another one that asked, and Redis does not answer. */
    private void checkOutage(boolean asked, long began) {
        Availability server = all.monitored.of(keys().lock());
        long now = clock.nanoTime();
        if (!asked && sharer.share() == null && server.age(now) > 0) {
            throw all.unavailable.notAcquired(keys(), now - began, false, server.cause());
        }
    }

    @Override
    public void unlock() {
        boolean heard = isHeard();
        if (heard) {
            StackSpace.ensureLocal();
        }
        Cell cell = cell();
        if (unlockedInside(cell)) {
            return;
        }
        Share held = cell.share();
        long now = clock.nanoTime();
        if (held == null || (!held.hold.isValid(now) && !isValid(cell, held))) {
            throw unlockLost(cell);
        }
        if (cell.count() > 1) {
            cell.leavesOnce();
            return;
        }
        ReadHold view = heard ? cell.view(held, false) : null;
        if (!cell.leave(held)) {
            throw unlockLost(cell);
        }
        // If an error stops this thread from here on, the watchdog ends a closed share.
        cell.left(now);
        all.left(sharer, held);
        if (view != null) {
            released(view, now);
        }
    }

    /** Unlocks once if the thread reads inside its write hold; returns false if it does not. */
    private boolean unlockedInside(Cell cell) {
        if (cell.write() == null || validWrite(cell) == null) {
            return false;
        }
        if (cell.count() > 1) {
            cell.leavesOnce();
        } else {
            cell.leaveInside();
        }
        return true;
    }

    private RuntimeException unlockLost(Cell cell) {
        ReadHold loss = cell.due();
        if (loss == null) {
            return notHeld();
        }
        LockLostException exception = Losses.exception(loss);
        cell.unlockedAfterLoss();
        return exception;
    }

    private IllegalMonitorStateException notHeld() {
        return new IllegalMonitorStateException("Thread "
                + Shown.of(Threads.name(Thread.currentThread())) + " does not read under the lock \""
                + Shown.of(keys().name())
                + "\": only the thread that locked the read lock can do this, through the same RedisLocks.");
    }

    /** The token of the last writer; throws if the calling thread does not read, or has lost the lock. */
    public long ensureRead() {
        Cell cell = cell();
        Share held = cell.share();
        if (held != null && isValid(cell, held)) {
            return held.hold.token;
        }
        Held write = validWrite(cell);
        if (write != null) {
            return write.token;
        }
        ReadHold loss = cell.loss();
        throw loss == null ? notHeld() : Losses.exception(loss);
    }

    /** The token of the last writer if this client has a valid share, so that nobody can write now; else 0. */
    public long version() {
        Share present = sharer.share();
        return present != null && present.hold.isValid(clock.nanoTime()) ? present.hold.token : 0;
    }

    /** The number of unlocks that are due for the calling thread; 0 if it does not read, or has lost the lock. */
    public int readCount() {
        Cell cell = cell();
        Share held = cell.share();
        return (held != null && isValid(cell, held)) || validWrite(cell) != null ? cell.count() : 0;
    }

    /** The number of read holds of this client's threads. */
    public int countReads() {
        return all.countReads(sharer);
    }
}
