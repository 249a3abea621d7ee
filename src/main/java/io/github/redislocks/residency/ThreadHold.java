package io.github.redislocks.residency;

import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Timing;
import org.jspecify.annotations.Nullable;

/**
 * A thread's hold of a lock that its client keeps. Redis does not know this hold. It is valid as long as the client's
 * hold in Redis, the lease. At first the hold is only beginning: its thread checks once more whether the lease is still
 * valid.
 */
public final class ThreadHold extends Held {

    /** In place of a deadline: the hold has none of its own, since the lease ends it. */
    private static final long NONE = Long.MAX_VALUE;

    /** The client's hold in Redis. */
    final Hold lease;

    /** Whether the thread sent a request to acquire the hold. Used by that thread only. */
    private boolean asked;
    /** Set once the record of the loss was made, before the turn ends. */
    private volatile boolean recorded;
    /** The thread's earlier loss that is recorded, or null. */
    private volatile @Nullable ThreadHold earlier;

    ThreadHold(Hold lease, Owner owner, long token, boolean previousLost, long now) {
        super(owner, token, previousLost, now);
        this.lease = lease;
    }

    /** The owner of a lease, which has threads' holds under it. */
    interface Host {

        /** Ends a hold that was lost, and the turn of its thread; once, however often it is called. */
        void lost(ThreadHold hold);
    }

    /** Ends the turn of its thread, since the hold was lost; once, however often it is called. */
    void endTurn() {
        ((Host) lease.owner).lost(this);
    }

    /** Makes the hold valid. Until now it could not be declared lost. */
    void begin() {
        begin(NONE);
    }

    boolean isBeginning() {
        return super.deadlineNanos() == 0;
    }

    /** Notes that the thread sent a request to acquire the hold. Called by that thread. */
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

    /** Returns true if the hold lasts as long as a re-entry wants. A fixed lease counts from now. */
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

    /** The thread's earlier loss that is recorded, or null. */
    @Nullable
    ThreadHold earlier() {
        return earlier;
    }

    /** Notes an earlier loss before it is recorded; returns this. */
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
