package io.github.redislocks.shared;

import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.Steps;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.Keeper;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import java.util.Collection;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A client as one of the owners of a lock that readers share. In Redis it has at most one hold, the share. In the
 * client each thread and each handle that reads has a {@link Cell}.
 *
 * <p>A reader that finds no open share waits in its cell. One of the waiting readers is the <i>asker</i>, which asks
 * Redis for a share on behalf of all. No reader asks before the previous share has ended. The thread that begins a
 * share lets in all readers that wait at that moment, even if a writer has recalled the share already; only then does
 * it close a recalled share.
 */
final class Sharer extends Owner implements Keeper {

    /** With more cells than this, the sharer removes cells of ended threads; then again when the number has doubled. */
    private static final int FEW = 64;

    /** How long a downgrade sleeps until it looks again whether the asker has made another attempt. */
    private static final long PAUSE_NANOS = 1_000_000;

    final LockKeys keys;
    private final Losses losses;
    private final Holds holds;
    private final ConcurrentMap<Owner, Cell> cells = new ConcurrentHashMap<>();
    private final AtomicReference<@Nullable Share> share = new AtomicReference<>();
    private final AtomicReference<@Nullable Owner> asker = new AtomicReference<>();
    /**
     * The thread that is about to become the asker for its downgrade; null if there is none. Set only by the thread
     * that has the write lock.
     */
    private volatile @Nullable Owner downgrades;
    /** The number of the latest attempt whose share a writer has recalled. */
    private final AtomicLong recalled = new AtomicLong();
    /** The sending time of the last renewal that Redis has answered. */
    private volatile long renewedNanos;

    /** When a try last began a look for writers. */
    private final AtomicLong lookedNanos = new AtomicLong();

    /** The answers to tries of other clients that are due once the share has ended. */
    private final Queue<Runnable> answers = new ConcurrentLinkedQueue<>();

    private volatile boolean closing;
    /** The longest lease of all lock objects. */
    private final AtomicLong longestMillis = new AtomicLong();
    /** The longest time of all lock objects for which a share stays after its last reader. */
    private final AtomicLong lingerNanos = new AtomicLong();
    /** With more cells than this, the sharer next removes cells of ended threads. */
    private volatile int manyCells = FEW;

    /** Makes a sharer without a share. The sharer has the client's id in Redis. */
    Sharer(String clientId, LockKeys keys, Losses losses, Holds holds) {
        super(clientId, Sharer.class);
        this.keys = keys;
        this.losses = losses;
        this.holds = holds;
    }

    /** The cell of an owner: of the calling thread, or of a handle. */
    Cell cell(Owner owner) {
        Cell known = cells.get(owner);
        return known == null ? added(owner) : known;
    }

    private Cell added(Owner owner) {
        Cell made = new Cell(owner);
        cells.put(owner, made);
        if (cells.size() > manyCells) {
            cells.values().removeIf(cell -> cell.share() == null && !cell.owner.isAlive());
            manyCells = Math.max(FEW, 2 * cells.size());
        }
        return made;
    }

    /** The cell of an owner; null if it has none yet. */
    @Nullable
    Cell known(Owner owner) {
        return cells.get(owner);
    }

    Collection<Cell> cells() {
        return cells.values();
    }

    /** Forgets the cell of a thread or a handle that has ended. */
    void forget(Cell cell) {
        cells.remove(cell.owner, cell);
    }

    /** The latest share, until its end is known; null if there is none. */
    @Nullable
    Share share() {
        return share.get();
    }

    /**
     * Enters the open share, for a thread that is outside, and returns the share; null if no share is open and valid.
     * After null, call {@link Shares#left}: the share may have been closed while this thread was inside.
     */
    @Nullable
    Share enter(Cell cell, long now) {
        Share open = share.get();
        if (open == null || !open.isOpen() || !open.hold.isValid(now)) {
            return null;
        }
        cell.enter(open, now);
        // If the share does not admit the thread, leave it; if its loss came first, the thread counts as inside.
        return open.admits() || !cell.leave(open) ? open : null;
    }

    /** Lets in a thread that waits, if there is an open share; returns whether the thread is inside. */
    boolean letIn(Cell cell, long now) {
        Share open = share.get();
        if (open == null || !open.isOpen() || !open.hold.isValid(now) || !cell.letIn(open)) {
            return !cell.isWaiting();
        }
        return open.admits() || !cell.waitsAgain(open);
    }

    /** Begins a share: lets in the calling thread, whose cell is given, and all others that wait. */
    void begin(Cell asker, Share granted) {
        // Let the calling thread in before others see the share: the share cannot end while it lets others in.
        asker.letIn(granted);
        share.set(granted);
        for (Cell cell : cells.values()) {
            if (cell.letIn(granted)) {
                cell.owner.wake();
            }
        }
        // Look only now: a thread that declared the loss earlier found no reader inside.
        LockLost.Reason reason = granted.hold.lossReason();
        if (reason != null) {
            lost(granted.hold, reason);
        }
    }

    /** Wakes all threads that wait, so that each enters a share that is open again. */
    private void wakeAll() {
        for (Cell cell : cells.values()) {
            if (cell.isWaiting()) {
                cell.owner.wake();
            }
        }
    }

    /** Opens a share again that was closed since nobody seemed to use it. */
    void reopenIdle(Share idle) {
        if (idle.reopenIdle()) {
            wakeAll();
        }
    }

    /** Notes that a share has ended. Any thread may call this, any number of times. */
    void ended(Hold hold) {
        Share present = share.get();
        if (present != null && present.isOf(hold)) {
            share.compareAndSet(present, null);
        }
        wakeNext();
        answer();
    }

    /** Answers a try of another client: at once, unless the share is ending. Then the answer follows the end. */
    @SuppressWarnings("ReferenceEquality")
    void answerAfter(Share present, Runnable answer) {
        answers.add(answer);
        // Look after adding the answer: the end of the share either finds the answer, or was early enough for this
        // look.
        if (!present.isEnding() || share.get() != present) {
            answer();
        }
    }

    private void answer() {
        for (Runnable next = answers.poll(); next != null; next = answers.poll()) {
            next.run();
        }
    }

    /**
     * Begins the end of a closed share if nobody is inside; returns true for the one caller that has to end it. If
     * another thread closes the share anew meanwhile, that thread or the watchdog calls this method afterwards.
     */
    boolean beginsEnd(Share closed) {
        int seen = closed.seen();
        return !isUsed(closed) && closed.beginEnd(seen);
    }

    /** Returns true if a thread reads under the share. */
    boolean isUsed(Share present) {
        for (Cell cell : cells.values()) {
            if (cell.isIn(present)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Makes the calling thread the asker for its downgrade. While there is another asker, runs {@code superseded},
     * which fails that asker's attempt.
     */
    void beginsDowngrade(Owner caller, Runnable superseded) {
        downgrades = caller;
        boolean interrupted = false;
        try {
            while (!asker.compareAndSet(null, caller)) {
                superseded.run();
                LockSupport.parkNanos(this, PAUSE_NANOS);
                // Clear the interrupt flag: with the flag set, the thread would not sleep.
                interrupted |= Thread.interrupted();
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
            downgrades = null;
            if (asker.get() == null) {
                // An error has stopped this thread. Meanwhile no other reader has asked, so wake one.
                wakeNext();
            }
        }
    }

    /**
     * Makes an owner that waits the asker. Returns false if another owner is the asker or about to become it, or if a
     * share has not ended.
     */
    boolean beginsAsking(Owner waiting) {
        if (downgrades != null || share.get() != null || !asker.compareAndSet(null, waiting)) {
            return false;
        }
        // Look again: an earlier asker may have got a share just before it ended its part.
        if (share.get() != null) {
            endsAsking();
            return false;
        }
        return true;
    }

    @SuppressWarnings("ReferenceEquality")
    boolean isAsker(Owner waiting) {
        return asker.get() == waiting;
    }

    /** Ends the part of the asker. If there is still no share, the next owner that waits becomes the asker. */
    void endsAsking() {
        asker.set(null);
        Owner downgrading = downgrades;
        if (downgrading != null) {
            downgrading.wake();
        }
        wakeNext();
    }

    /** Wakes one owner that waits. The owner becomes the asker if there is no asker and no share. */
    void wakeNext() {
        for (Cell cell : cells.values()) {
            if (cell.isWaiting() && cell.owner.thread() != Thread.currentThread()) {
                cell.owner.wake();
                return;
            }
        }
    }

    /** Notes that a writer wants the lock that this client shares, or is about to share, by {@code attempt}. */
    @Override
    public void wanted(long attempt) {
        recalled.accumulateAndGet(attempt, Math::max);
    }

    @Override
    public void renewed(long attempt, boolean wanted, long sentNanos) {
        if (wanted) {
            // Note the recall before the look for a share: a thread that begins a share first makes it visible, and
            // then looks for a recall.
            wanted(attempt);
        }
        Share present = share.get();
        if (present != null && present.hold.attempt == attempt) {
            renewed(present, wanted, sentNanos);
        }
        renewedNanos = sentNanos;
    }

    /**
     * Closes the share if a writer waits. Else reopens the share if it was closed for a writer, and wakes the readers
     * that wait.
     */
    private void renewed(Share present, boolean wanted, long sentNanos) {
        if (wanted) {
            present.close(sentNanos);
        } else if (!closing && present.reopen(sentNanos)) {
            wakeAll();
        }
    }

    /** The sending time of the last renewal that Redis has answered. */
    long renewedNanos() {
        return renewedNanos;
    }

    /** Begins a look for writers, unless another thread has begun one since {@code sinceNanos}. */
    boolean beginsLook(long sinceNanos, long now) {
        long last = lookedNanos.get();
        return last - sinceNanos < 0 && lookedNanos.compareAndSet(last, now);
    }

    /** Notes that the client is being closed, so that no share is opened again. */
    void closes() {
        closing = true;
    }

    /** Returns true if a writer has recalled the share, whether or not that writer still waits. */
    boolean isRecalled(Share present) {
        return recalled.get() >= present.hold.attempt;
    }

    /** Notes the lease of a lock object, and for how long its shares stay after their last readers. */
    void wants(long leaseMillis, long nanos) {
        longestMillis.accumulateAndGet(leaseMillis, Math::max);
        lingerNanos.accumulateAndGet(nanos, Math::max);
    }

    /** For how long a share stays after its last reader. */
    long lingerNanos() {
        return lingerNanos.get();
    }

    /** The lease that a renewal asks for: the longest of all lock objects while threads read, else the short one. */
    @Override
    public long leaseMillis(long renewedMillis) {
        Share present = share.get();
        return present != null && isUsed(present) ? Math.max(renewedMillis, longestMillis.get()) : renewedMillis;
    }

    @Override
    public boolean isShared() {
        return true;
    }

    @Override
    public boolean givesWay() {
        return true;
    }

    /** Ends all possessions under a share that was lost, and notifies the listeners of each. */
    @Override
    public FollowUp lost(Hold hold, LockLost.Reason reason) {
        try {
            Steps.forEach(cells.values(), cell -> tell(cell.lose(hold, reason)));
        } finally {
            ended(hold);
        }
        holds.forget(hold);
        return FollowUp.DONE;
    }

    /** Notifies the listeners of a loss, unless they have been notified. */
    void tell(@Nullable ReadHold loss) {
        LockLost.Reason reason = loss == null ? null : loss.lossReason();
        if (loss == null || reason == null || !loss.beginTelling()) {
            return;
        }
        boolean done = false;
        try {
            losses.tell(loss.loss(reason), loss);
            done = true;
        } finally {
            loss.endTelling(done);
        }
    }

    @Override
    public void rescued(Hold hold) {
        ended(hold);
    }

    @Override
    public @Nullable Held use(Hold hold) {
        for (Cell cell : cells.values()) {
            Share present = cell.share();
            if (present != null && present.isOf(hold)) {
                return cell.view(present, false);
            }
        }
        return null;
    }

    @Override
    public @Nullable Thread thread() {
        Owner present = asker.get();
        return present == null ? null : present.thread();
    }

    /** Wakes the asker. */
    @Override
    public void wake() {
        Owner present = asker.get();
        if (present != null) {
            present.wake();
        }
    }

    /** Returns true, since the client keeps a share for its threads, whichever of them are alive. */
    @Override
    public boolean isAlive() {
        return true;
    }

    @Override
    public String description() {
        return "the readers of this client";
    }
}
