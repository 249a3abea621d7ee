package io.github.redislocks.shared;

import io.github.redislocks.LockLost;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Owner;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * The state of one thread or one handle at one lock. Each thread has a cell of its own while it lives, so that threads
 * that read write to no common variable. A handle has a cell while it waits or reads, and enters once; below, a thread
 * may be a handle as well. The place of a cell is one of:
 *
 * <pre>
 *   null      the thread is outside
 *   WAITING   the thread waits for a share; the thread that begins a share puts it here, and so lets this one in
 *   Inside    the thread reads inside its own write hold; if the write hold ends first, it becomes a share
 *   a Share   the thread reads under it
 *   a ReadHold the thread read under a share that was lost, and still has to unlock
 * </pre>
 *
 * <p>The thread that reads and a thread that declares the loss both change the place by compare-and-set, so an unlock
 * either comes before the loss or throws.
 */
final class Cell {

    private static final Object WAITING = new Object();

    /** The place of a thread that reads inside its own write hold. */
    private record Inside(Held write) {}

    private static final AtomicReferenceFieldUpdater<Cell, @Nullable Object> PLACE =
            AtomicReferenceFieldUpdater.newUpdater(Cell.class, Object.class, "place");
    private static final AtomicReferenceFieldUpdater<Cell, @Nullable ReadHold> VIEW =
            AtomicReferenceFieldUpdater.newUpdater(Cell.class, ReadHold.class, "view");
    private static final AtomicLongFieldUpdater<Cell> USED = AtomicLongFieldUpdater.newUpdater(Cell.class, "usedNanos");

    final Owner owner;
    private volatile @Nullable Object place;
    /** When the thread last entered, or left. */
    private volatile long usedNanos;
    /** The present possession as an object, if somebody needed one. */
    private volatile @Nullable ReadHold view;
    /** How many unlocks are due for the present place. Used by the thread only; others may read an older value. */
    private int count;
    /** The latest loss after which the thread has locked again, and how many unlocks are due for such losses. */
    private @Nullable ReadHold lost;

    private int lostCount;

    Cell(Owner owner) {
        this.owner = owner;
    }

    /** The share under which the thread reads, valid or not; null if there is none. */
    @Nullable
    Share share() {
        return place instanceof Share share ? share : null;
    }

    /** Returns true if the thread reads under this share. */
    @SuppressWarnings("ReferenceEquality")
    boolean isIn(Share share) {
        return place == share;
    }

    boolean isOut() {
        return place == null;
    }

    /** Returns true if nothing of the thread is left here. */
    boolean isEmpty() {
        return place == null && lost == null;
    }

    @SuppressWarnings("ReferenceEquality")
    boolean isWaiting() {
        return place == WAITING;
    }

    /** The write hold inside which the thread reads, valid or not; null if there is none. */
    @Nullable
    Held write() {
        return place instanceof Inside inside ? inside.write : null;
    }

    /** Reads inside a write hold of the thread from now on. Called by the thread, which is outside. */
    void enterInside(Held write, long now) {
        begins(now);
        place = new Inside(write);
    }

    /** Leaves the write hold inside which the thread read. */
    void leaveInside() {
        place = null;
    }

    /** Waits for the share that the thread's write hold becomes; the hold count stays. */
    void waitsOn() {
        place = WAITING;
    }

    /** Declares the thread's reads lost with its write hold. Only the loss of the write hold is reported. */
    void losesWrite(Hold write, LockLost.Reason reason) {
        ReadHold loss = new ReadHold(write, owner, usedNanos, false);
        loss.lose(reason);
        loss.reportedOtherwise();
        place = loss;
    }

    /** The number of unlocks that are due for the present place. */
    int count() {
        return place instanceof Share || place instanceof Inside ? count : 0;
    }

    /** When the thread last entered or left. */
    long usedNanos() {
        return usedNanos;
    }

    /**
     * Enters a share. Called by the thread, which is outside. The thread is inside only if the share then admits it.
     */
    void enter(Share share, long now) {
        begins(now);
        place = share;
    }

    /** Notes that an entry begins. */
    private void begins(long now) {
        if (view != null) {
            view = null;
        }
        count = 1;
        USED.lazySet(this, now);
    }

    /** Waits for a share from now on. Called by the thread, which is outside. */
    void waits(long now) {
        begins(now);
        place = WAITING;
    }

    /** Lets the thread in; returns false if the thread does not wait. */
    boolean letIn(Share share) {
        return PLACE.compareAndSet(this, WAITING, share);
    }

    /** Goes on waiting, since the share does not admit the thread; returns false if the share was lost meanwhile. */
    boolean waitsAgain(Share share) {
        return PLACE.compareAndSet(this, share, WAITING);
    }

    /** Waits no more; returns false if the thread was let in. */
    boolean waitsNoMore() {
        return PLACE.compareAndSet(this, WAITING, null);
    }

    /** Leaves a share; returns false if the loss of the share came first. */
    boolean leave(Share share) {
        return PLACE.compareAndSet(this, share, null);
    }

    /** Notes when the thread unlocked, and ends the view of its possession. */
    void left(long now) {
        USED.lazySet(this, now);
        ReadHold seen = view;
        if (seen != null) {
            seen.beginRelease(now);
        }
    }

    void entersAgain() {
        count++;
    }

    void leavesOnce() {
        count--;
    }

    /** The possession of a thread that reads under this share, as an object. */
    ReadHold view(Share share, boolean asked) {
        ReadHold known = view;
        if (known != null && known.isUnder(share.hold)) {
            return known;
        }
        ReadHold made = new ReadHold(share.hold, owner, usedNanos, asked);
        return VIEW.compareAndSet(this, known, made) ? made : view(share, asked);
    }

    /** The possession of a thread that was let in, as an object, or its loss; null if the thread is outside. */
    @Nullable
    Held entered(boolean asked) {
        Share share = share();
        return share == null ? loss() : view(share, asked);
    }

    /** The loss of the share under which the thread read, until it has unlocked; null if there is none. */
    @Nullable
    ReadHold loss() {
        return place instanceof ReadHold loss ? loss : null;
    }

    /**
     * Declares that the thread has lost the share; returns the loss. Null if the thread does not read under it, or has
     * left it just now.
     */
    @Nullable
    ReadHold lose(Hold hold, LockLost.Reason reason) {
        Object now = place;
        if (now instanceof ReadHold loss) {
            return loss.isUnder(hold) ? loss : null;
        }
        if (!(now instanceof Share share) || !share.isOf(hold)) {
            return null;
        }
        ReadHold seen = view(share, false);
        seen.lose(reason);
        return PLACE.compareAndSet(this, share, seen) ? seen : lose(hold, reason);
    }

    /** Notes that the thread locks again after a loss. */
    void setAside(ReadHold loss) {
        lost = loss;
        lostCount += count;
        place = null;
    }

    /** The loss after which the thread has not unlocked as often as it had locked; null if there is none. */
    @Nullable
    ReadHold due() {
        ReadHold loss = loss();
        return loss == null ? lost : loss;
    }

    /** Counts an unlock after a loss. */
    void unlockedAfterLoss() {
        if (place != null) {
            count--;
            if (count <= 0) {
                place = null;
            }
        } else {
            lostCount--;
            if (lostCount <= 0) {
                lost = null;
            }
        }
    }
}
