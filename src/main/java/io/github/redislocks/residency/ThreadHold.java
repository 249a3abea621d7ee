package io.github.redislocks.residency;

import io.github.redislocks.LockLost;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.HoldKey;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Timing;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * A thread's hold of a lock that its client keeps. Redis does not know the hold, which is valid for as long as the
 * client's hold in Redis, the lease. The state is one number, changed only by compare-and-set once others can see it:
 *
 * <pre>
 *   beginning the thread that has the turn looks once more whether the lease is still there; nobody can lose it
 *   held
 *   releasing its thread unlocks it
 *   lost      the reason, and whether the listeners have been told: not yet, being told, told
 * </pre>
 */
public final class ThreadHold extends HoldKey implements Held {

    private static final int BEGINNING = 0;
    private static final int HELD = 1;
    private static final int RELEASING = 2;
    /** Lost for the first reason, not told. The states of the other reasons follow, in their order. */
    private static final int LOST = 10;
    /** The distance from the states of losses not told to those of losses being told, and from there to those told. */
    private static final int TELLING = 10;

    private static final LockLost.Reason[] REASONS = LockLost.Reason.values();
    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(ThreadHold.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final Turn turn;
    /** The client's hold in Redis. */
    final Hold lease;

    private final Owner owner;
    private final long token;
    private final boolean previousLost;
    private final long acquiredNanos;
    private volatile int state;
    /** How often it is held; of its thread. */
    private int count = 1;
    /** Set if its thread has sent a request to acquire it; of that thread. */
    private boolean asked;
    /** Set if an error has stopped the release, which the watchdog has to continue. */
    public volatile boolean stranded;
    /** Set once listeners were notified of the acquisition. */
    private volatile boolean announced;
    /** Set once listeners were notified of the loss; of the notifying thread. */
    private volatile boolean told;
    /** Set once the record of the loss was made, before the turn ends. */
    private volatile boolean recorded;
    /** An earlier loss of its thread that is recorded, or null. */
    private volatile @Nullable ThreadHold earlier;

    ThreadHold(Turn turn, Hold lease, Owner owner, long token, boolean previousLost, long now) {
        this.turn = turn;
        this.lease = lease;
        this.owner = owner;
        this.token = token;
        this.previousLost = previousLost;
        this.acquiredNanos = now;
    }

    /** The turn that its thread has. */
    interface Turn {

        /** Ends it, since what the thread had was lost; once, however often it is said. */
        void lost(ThreadHold hold);
    }

    /** Ends the turn of its thread, since it was lost; once, however often it is said. */
    void endTurn() {
        turn.lost(this);
    }

    /** From now on it is held; until then nobody could lose it. */
    void begin() {
        state = HELD;
    }

    boolean isBeginning() {
        return state == BEGINNING;
    }

    /** Notes that its thread has asked Redis to come to it; of that thread. */
    void asked() {
        asked = true;
    }

    @Override
    public boolean isUnasked() {
        return !asked;
    }

    /** Returns true if the hold is under this lease. */
    @SuppressWarnings("ReferenceEquality")
    boolean isUnder(Hold other) {
        return lease == other;
    }

    boolean isValid(long now) {
        return state == HELD && !stranded && lease.isValid(now);
    }

    /** Returns true if the hold lasts as long as a re-entry wants. A lease that the caller names counts from now. */
    boolean covers(long now, long wantedMillis, boolean renewed) {
        return isValid(now)
                && (renewed
                        ? lease.renewedMillis() >= wantedMillis
                        : lease.deadlineNanos() >= now + Timing.validityNanos(wantedMillis));
    }

    /** Returns true once the record of the loss was made. */
    boolean isRecorded() {
        return recorded;
    }

    /** Notes that the record of its loss was made. */
    void recorded() {
        recorded = true;
    }

    /** An earlier loss of its thread that is recorded, or null. */
    @Nullable
    ThreadHold earlier() {
        return earlier;
    }

    /** Notes an earlier loss before it is recorded; returns this. */
    ThreadHold above(@Nullable ThreadHold before) {
        earlier = before;
        return this;
    }

    /** Counts a re-entry. */
    void reentered() {
        count++;
    }

    /** Counts an unlock that is not the last, or one after the loss; whether nothing more is to be unlocked. */
    boolean exited() {
        count--;
        return count == 0;
    }

    /** Adds the unlocks that an other loss of the thread still needs, so that one record is enough for both. */
    void standsFor(ThreadHold lost) {
        count += lost.count;
    }

    /** Begins the release; false if it has ended, or its lease. */
    public boolean beginRelease(long now) {
        return isValid(now) && STATE.compareAndSet(this, HELD, RELEASING);
    }

    /** Ends it as lost; true for the one caller that ended it. */
    boolean lose(LockLost.Reason reason) {
        return STATE.compareAndSet(this, HELD, lost(reason));
    }

    /** Ends it as lost in the middle of its release. */
    boolean lostInRelease(LockLost.Reason reason) {
        return STATE.compareAndSet(this, RELEASING, lost(reason));
    }

    /** The state of what was lost for a reason and whose loss has not been told. */
    private static int lost(LockLost.Reason reason) {
        int number = 0;
        while (REASONS[number] != reason) {
            number++;
        }
        return LOST + number;
    }

    public boolean isLost() {
        return state >= LOST;
    }

    /** Returns true if the loss is not handled yet, or if an error has stopped the thread that handled it. */
    boolean isUntold() {
        int now = state;
        return now >= LOST && now < LOST + 2 * TELLING;
    }

    /** Begins to tell the listeners of the loss; true for the one caller that has to do it. */
    boolean beginTelling() {
        int now = state;
        return now >= LOST && now < LOST + TELLING && STATE.compareAndSet(this, now, now + TELLING);
    }

    /** Notes that the listeners were told of the loss, or, if not done, that another caller has to tell them. */
    void endTelling(boolean done) {
        state = done ? state + TELLING : state - TELLING;
    }

    @Override
    public LockLost.@Nullable Reason lossReason() {
        int now = state;
        return now < LOST ? null : REASONS[(now - LOST) % TELLING];
    }

    @Override
    public boolean isOpen() {
        return state == HELD;
    }

    @Override
    public long deadlineNanos() {
        return isOpen() ? lease.deadlineNanos() : 0;
    }

    @Override
    public String lock() {
        return lease.lock();
    }

    @Override
    public Object holder() {
        return owner.holder;
    }

    @Override
    public LockKeys keys() {
        return lease.keys();
    }

    @Override
    public Owner owner() {
        return owner;
    }

    @Override
    public long token() {
        return token;
    }

    @Override
    public boolean previousLost() {
        return previousLost;
    }

    @Override
    public long acquiredNanos() {
        return acquiredNanos;
    }

    @Override
    public int count() {
        return count;
    }

    @Override
    public void announced() {
        announced = true;
    }

    @Override
    public boolean isAnnounced() {
        // No caller has what an error stranded.
        return announced || stranded;
    }

    @Override
    public boolean isToldFirst() {
        boolean first = !told;
        told = true;
        return first;
    }
}
