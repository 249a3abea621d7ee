package io.github.redislocks.shared;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.engine.LockEngine;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.BatchDriver;
import io.github.redislocks.waiting.Driver;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A read lock object. While the client has an open share, a thread or a handle enters and leaves without a request.
 * Else it waits in its cell, and asks Redis for a share unless another reader does.
 */
public final class ShareLock extends Sync {

    private final Shares all;
    private final Sharer sharer;
    private final Entrance entrance;
    private final Clock clock;
    /** The write lock. */
    private final Sync writer;

    /** Makes the read lock that belongs to a write lock. */
    public ShareLock(LockEngine engine, Sync writer, Settings own, Shares all) {
        // Each attempt of a sharer has its own place in Redis, so it is fair.
        super(engine, writer.keys().toRead(), true, idle(own));
        this.writer = writer;
        this.all = all;
        this.sharer = all.sharer(writer.keys(), own);
        this.entrance = new Entrance(this, all, sharer);
        this.clock = all.clock;
    }

    /**
     * The settings with the short lease with which a share begins: if a client is killed while its share is idle, the
     * client delays no writer for long.
     */
    private static Settings idle(Settings own) {
        return own.withLease(
                Duration.ofMillis(Math.max(Settings.MIN_LEASE.toMillis(), Timing.claimMillis(own.leaseMillis()))));
    }

    @Nullable
    Hold attempt(WaitLimit limit) throws InterruptedException {
        return attempt(sharer, limit, null);
    }

    BatchDriver unattendedAttempt(WaitLimit limit) {
        return unattendedAttempt(sharer, limit);
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
        return heard ? entered(cell, entered, now) : entered.hold;
    }

    private static <H extends Held> H again(Cell cell, H held) {
        if (cell.count() == Integer.MAX_VALUE) {
            throw new Error("Maximum lock count exceeded");
        }
        cell.entersAgain();
        return held;
    }

    /** Makes the possession of an owner that has just entered, and publishes it. */
    private Held entered(Cell cell, Share entered, long began) {
        boolean done = false;
        try {
            ReadHold view = cell.view(entered, false);
            if (isHeard()) {
                all.events.acquired(keys(), view, began, all.events.begun(keys()));
            }
            done = true;
            return view;
        } finally {
            if (!done) {
                entrance.giveUp(cell);
            }
        }
    }

    @Override
    public @Nullable Held enterHere(HandleOwner owner) {
        Cell cell = sharer.cell(owner);
        long now = clock.nanoTime();
        Share entered = sharer.enter(cell, now);
        if (entered == null) {
            all.left(sharer, sharer.share());
            return null;
        }
        return entered(cell, entered, now);
    }

    @Override
    public @Nullable Held acquire(HandleOwner owner, WaitLimit limit) throws InterruptedException {
        owner.waits();
        try {
            throwIfInterrupted(limit);
            Held entered = enterHere(owner);
            if (entered != null) {
                return entered;
            }
            Cell cell = sharer.cell(owner);
            return isHeard() ? heard(() -> read(cell, limit)) : read(cell, limit);
        } finally {
            owner.rests();
            limit.restore();
        }
    }

    @Override
    public Driver unattended(HandleOwner owner, WaitLimit limit) {
        return new CellDriver(entrance, sharer.cell(owner), limit);
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
            entrance.waits(cell);
            if (!entrance.await(cell, limit, asked) && cell.waitsNoMore()) {
                entrance.checkOutage(asked[0], limit);
                return null;
            }
            Held read = read(cell, asked[0]);
            done = true;
            return read;
        } finally {
            if (!done) {
                entrance.giveUp(cell);
            }
        }
    }

    /** The possession of an owner that was let in, or its loss. */
    private @Nullable Held read(Cell cell, boolean asked) {
        Share share = cell.share();
        return share == null || isHeard() || cell.owner instanceof HandleOwner ? cell.entered(asked) : share.hold;
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
        leave(cell, held, now);
        if (view != null) {
            released(view, now);
        }
    }

    private void leave(Cell cell, Share held, long now) {
        if (!cell.leave(held)) {
            throw unlockLost(cell);
        }
        // If an error stops this thread from here on, the watchdog ends a closed share.
        cell.left(now);
        all.left(sharer, held);
    }

    @Override
    public void releaseHandle(Held held, long keptMillis) {
        released(held, end(held));
    }

    @Override
    public void releaseHandleLater(Held held, long keptMillis, Consumer<Boolean> onEnd) {
        long now;
        try {
            now = end(held);
        } catch (LockLostException e) {
            all.events.notifyHandle(() -> onEnd.accept(false));
            return;
        }
        all.events.notifyHandle(() -> {
            try {
                released(held, now);
            } finally {
                onEnd.accept(true);
            }
        });
    }

    /** Ends the possession of a handle, and returns the time of the end; throws if the possession was lost. */
    private long end(Held held) {
        Cell cell = sharer.cell(held.owner);
        try {
            long now = clock.nanoTime();
            Share present = cell.share();
            if (present == null || (!present.hold.isValid(now) && !isValid(cell, present))) {
                throw unlockLost(cell);
            }
            leave(cell, present, now);
            return now;
        } finally {
            // Leave even after an error: nobody can release the handle again.
            entrance.leaves(cell);
        }
    }

    @Override
    public long checkKept(Duration sinceAcquired) {
        throw new UnsupportedOperationException(
                "A read lock offers no releaseAfter: other readers may still read, and"
                        + " nobody keeps the lock for them. Release the handle when that time has come, or use the write lock.");
    }

    @Override
    public boolean isValid(Held held) {
        if (held.isValid(clock.nanoTime())) {
            return true;
        }
        Cell cell = sharer.known(held.owner);
        Share present = cell == null ? null : cell.share();
        return cell != null && present != null && isValid(cell, present);
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

    /** The hold under which the calling thread reads; throws if it does not read, or has lost the lock. */
    public Held ensureRead() {
        Cell cell = cell();
        Held held = valid(cell);
        if (held == null) {
            ReadHold loss = cell.loss();
            throw loss == null ? notHeld() : Losses.exception(loss);
        }
        return held;
    }

    /** The hold under which the thread reads: the share, or its write hold; null if none is valid. */
    private @Nullable Held valid(Cell cell) {
        Share held = cell.share();
        return held != null && isValid(cell, held) ? held.hold : validWrite(cell);
    }

    /** For how long the calling thread may read from now on without a renewal; 0 if it does not read. */
    public long remainingReadNanos() {
        Held held = valid(cell());
        return held == null ? 0 : Math.max(0, held.deadlineNanos() - clock.nanoTime());
    }

    /** The token of the last writer if this client has a valid share, so that nobody can write now; else 0. */
    public long version() {
        Share present = sharer.share();
        return present != null && present.hold.isValid(clock.nanoTime()) ? present.hold.token : 0;
    }

    /** The number of unlocks that are due for the calling thread; 0 if it does not read, or has lost the lock. */
    public int readCount() {
        Cell cell = cell();
        return valid(cell) != null ? cell.count() : 0;
    }

    /** The number of read holds of this client's threads and handles. */
    public int countReads() {
        return all.countReads(sharer);
    }
}
