package io.github.redislocks.residency;

import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Timing;
import org.jspecify.annotations.Nullable;

/**
 * A thread's hold of a lock that its client keeps. Redis does not know this hold: it is valid as long as the client's
 * hold in Redis, the lease. A new hold is <i>beginning</i>, and not valid yet, until its thread has checked the lease
 * once more.
 */
public final class ThreadHold extends Held {

    /** Stands for a deadline: the hold has no deadline of its own, since it ends with the lease. */
    private static final long NONE = Long.MAX_VALUE;

    /** The client's hold in Redis. */
    final Hold lease;

    /** Whether the hold's thread sent a request to acquire it. Used by that thread only. */
    private boolean asked;
    /** Whether the record of this hold's loss was made. Set before the turn ends. */
    private volatile boolean recorded;
    /** The thread's earlier loss that is recorded, or null. */
    private volatile @Nullable ThreadHold earlier;

    ThreadHold(Hold lease, Owner owner, long token, boolean previousLost, long now) {
        super(owner, token, previousLost, now);
        this.lease = lease;
    }

    /** The owner of a lease, under which threads have their holds. */
    interface Host {

        /** Ends a hold that was lost, and its thread's turn. A repeated call does nothing. */
        void lost(ThreadHold hold);
    }

    /** Ends this hold, which was lost, and its thread's turn. A repeated call does nothing. */
    void endTurn() {
        ((Host) lease.owner).lost(this);
    }

    /** Makes the hold valid. From now on it can be declared lost. */
    void begin() {
        begin(NONE);
    }

    boolean isBeginning() {
        return super.deadlineNanos() == 0;
    }

    /** Notes that the hold's thread sent a request to acquire it. Called by that thread. */
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

    @Override
    public boolean isValid(long now) {
        return super.isValid(now) && lease.isValid(now);
    }

    /**
     * Returns true if the lease lasts as long as a re-entry wants. The time of a re-entry without renewal counts from
     * {@code now}.
     */
    boolean covers(long now, long wantedMillis, boolean renewed) {
        return isValid(now)
                && (renewed
                        ? lease.renewedMillis() >= wantedMillis
                        : lease.deadlineNanos() >= now + Timing.validityNanos(wantedMillis));
    }

    /** Returns true if the record of this hold's loss was made. */
    boolean isRecorded() {
        return recorded;
    }

    /** Notes that the record of this hold's loss was made. */
    void recorded() {
        recorded = true;
    }

    /** The thread's earlier loss that is recorded, or null. */
    @Nullable
    ThreadHold earlier() {
        return earlier;
    }

    /** Sets the earlier loss of the same thread and lock, before this loss is recorded; returns this. */
    ThreadHold above(@Nullable ThreadHold before) {
        earlier = before;
        return this;
    }

    @Override
    public long beginRelease(long now) {
        return isValid(now) ? super.beginRelease(now) : 0;
    }

    @Override
    public long deadlineNanos() {
        return isOpen() ? lease.deadlineNanos() : 0;
    }

    @Override
    public String lock() {
        return lease.lock();
    }
}
