package io.github.redislocks.state;

import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.StackSpace;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The possession of a lock by a thread or a handle, valid or lost, with all its re-entries: a {@link Hold} in Redis, or
 * a possession by a thread under the hold of its client. The state of a possession is one number. Once other threads
 * can see the possession, only a compare-and-set changes the state: if a renewal, a loss and a release happen at once,
 * exactly one of them comes first, and a possession that has ended never becomes valid again. The states are:
 *
 * <pre>
 *   beginning 0: not held yet, so nobody can lose it
 *   held      a positive number: the validity deadline
 *   releasing the owner's thread sends the release, or the watchdog does so for that thread
 *   lost      the reason, and whether the listeners were notified: not yet, being notified, notified
 * </pre>
 */
public abstract class Held extends HoldKey implements LossSubject {

    private static final long RELEASING = -1;
    /**
     * The state after a loss for the first reason, before the listeners are notified. The next lower numbers stand for
     * the other reasons, in their order.
     */
    private static final long LOST = -10;
    /** In place of the number of a reason: lost, but the release goes on and still has the local turn. */
    private static final long UNCONFIRMED_IN_RELEASE = 9;
    /** Added to the state of a loss while the listeners are being notified; afterwards {@link #TOLD} instead. */
    private static final long TELLING = -10;

    private static final long TOLD = -20;
    private static final LockLost.Reason[] REASONS = LockLost.Reason.values();
    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Held.class, "state", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    public final Owner owner;
    public final long token;
    /** Whether the previous holder lost the lock. */
    public final boolean previousLost;
    /** When the owner acquired the lock. */
    public final long acquiredNanos;

    private volatile long state;
    /** How many unlocks are still due: the hold count, also after a loss. Used by the owner's thread only. */
    private int count = 1;
    /** Whether the listeners were notified of the loss; used by the notifying thread only. */
    private volatile boolean told;
    /**
     * Whether the listeners were notified of the acquisition. For a hold that comes back from a Condition, this is the
     * acquisition before the wait.
     */
    private volatile boolean announced;

    /** Makes a possession that is beginning. */
    protected Held(Owner owner, long token, boolean previousLost, long acquiredNanos) {
        this.owner = owner;
        this.token = token;
        this.previousLost = previousLost;
        this.acquiredNanos = acquiredNanos;
    }

    /** Makes the possession valid until a deadline. */
    protected final void begin(long deadlineNanos) {
        state = deadlineNanos;
    }

    @Override
    public final Object holder() {
        return owner.holder;
    }

    @Override
    public final String shown(LockLost loss) {
        return keys().shown();
    }

    @Override
    public boolean isOfHandle() {
        return owner instanceof HandleOwner;
    }

    @Override
    public void tellHandle(LockLost loss) {
        if (owner instanceof HandleOwner handle) {
            handle.lost(loss);
        }
    }

    public LockKeys keys() {
        return new LockKeys(lock());
    }

    public int count() {
        return count;
    }

    /** Counts a re-entry. Called by the owner's thread. */
    public void reentered() {
        count++;
    }

    /** Counts an inner unlock. Called by the owner's thread. */
    public void exited() {
        count--;
    }

    /** Takes over the hold count of a possession that was given up for a wait in a Condition. */
    final void resume(int times) {
        count = times;
    }

    /**
     * Counts an unlock after the loss; returns true if the owner's thread has nothing more to unlock. After an error
     * the thread may unlock once more.
     */
    public boolean unlockedAfterLoss() {
        count--;
        return count <= 0;
    }

    /** Adds the unlocks still due for another loss of the thread, so that one record stands for both. */
    public void standsFor(Held lost) {
        count += lost.count;
    }

    final long state() {
        return state;
    }

    /** Changes the state if it is still {@code from}; returns false if it is another. */
    final boolean changeState(long from, long to) {
        return STATE.compareAndSet(this, from, to);
    }

    /** Returns true if the possession has not ended and its validity deadline lies ahead. */
    public boolean isValid(long now) {
        return state > now;
    }

    /** Returns true if the possession has not been ended yet. Its deadline may have passed. */
    public boolean isOpen() {
        return state > 0;
    }

    public boolean isReleasing() {
        return state == RELEASING;
    }

    /**
     * Returns true if the possession is held or being released. Reads the state once: between two reads, a refused
     * release could make a possession that is being released a held one again.
     */
    public boolean isOpenOrReleasing() {
        long now = state;
        return now > 0 || now == RELEASING;
    }

    /** Returns true if the possession ended without a release. */
    public boolean isLost() {
        return state <= LOST;
    }

    /** The validity deadline; 0 before {@link #begin}, and less than 0 after the end. */
    public long deadlineNanos() {
        return state;
    }

    /** Ends the possession as lost; returns true for the one caller that ended it. */
    public boolean lose(LockLost.Reason reason) {
        return lose(Long.MAX_VALUE, reason);
    }

    /** As {@link #lose(LockLost.Reason)}, if the deadline is at most {@code ifAtMost}. */
    final boolean lose(long ifAtMost, LockLost.Reason reason) {
        while (true) {
            long old = state;
            if (old <= 0 || old > ifAtMost) {
                return false;
            }
            if (changeState(old, lost(reason))) {
                return true;
            }
        }
    }

    /** Begins the release; returns the deadline, or 0 if the possession had ended or the deadline has passed. */
    public long beginRelease(long now) {
        while (true) {
            long old = state;
            if (old <= now) {
                return 0;
            }
            if (changeState(old, RELEASING)) {
                return old;
            }
        }
    }

    /** Ends the possession as lost during its release. */
    public boolean lostInRelease(LockLost.Reason reason) {
        return changeState(RELEASING, lost(reason));
    }

    /** Ends the possession as lost although its release goes on: no reply came before the deadline. */
    public boolean releasedTooLate() {
        return changeState(RELEASING, LOST - UNCONFIRMED_IN_RELEASE);
    }

    /** Returns true if the possession is lost but its release goes on, whose end passes on the local turn. */
    public boolean isReleasedTooLate() {
        long now = state;
        return now <= LOST && (LOST - now) % -TELLING == UNCONFIRMED_IN_RELEASE;
    }

    /** The state after a loss for {@code reason}, before the listeners are notified. */
    private static long lost(LockLost.Reason reason) {
        int number = 0;
        while (REASONS[number] != reason) {
            number++;
        }
        return LOST - number;
    }

    /** The reason of the loss, or null if there was none. */
    public LockLost.@Nullable Reason lossReason() {
        long now = state;
        if (now > LOST) {
            return null;
        }
        long number = (LOST - now) % -TELLING;
        return number < REASONS.length ? REASONS[(int) number] : LockLost.Reason.UNCONFIRMED;
    }

    /** The event that says that the possession was lost for the given reason. */
    public LockLost loss(LockLost.Reason reason) {
        LockKeys keys = keys();
        return LockLost.of(keys.name(), token, owner.description(), reason)
                .withMode(keys.mode())
                .withOwnerId(owner.id);
    }

    /** Returns true if the possession was lost but the listeners were not notified yet, perhaps because of an error. */
    public boolean isUntold() {
        long now = state;
        return now <= LOST && now > LOST + TOLD;
    }

    /** Begins to notify the listeners of the loss; returns true for the one caller that has to notify them. */
    public boolean beginTelling() {
        // Check the stack first: endTelling() must follow even after an error, and needs a stack frame.
        StackSpace.ensureLocal();
        long now = state;
        return now <= LOST && now > LOST + TELLING && changeState(now, now + TELLING);
    }

    /** Notes that the listeners were notified; if {@code done} is false, another caller has to notify them. */
    public void endTelling(boolean done) {
        state = done ? state - TELLING + TOLD : state - TELLING;
    }

    @Override
    public boolean isToldFirst() {
        boolean first = !told;
        told = true;
        return first;
    }

    /** Notes that the listeners were notified of the acquisition. */
    public void announced() {
        announced = true;
    }

    @Override
    public boolean isAnnounced() {
        return announced;
    }

    /** Returns true if the owner acquired the lock without a request. */
    public boolean isUnasked() {
        return false;
    }
}
