package io.github.redislocks.residency;

import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Timing;
import org.jspecify.annotations.Nullable;

/**
 * A thread's hold of a lock that its client keeps. Redis does not know the hold, which is valid for as long as the
 * client's hold in Redis, the lease. The hold is beginning while the thread that has the turn looks once more whether
 * the lease is still there.
 */
public final class ThreadHold extends Held {

    /** The deadline of the hold itself, which the lease ends. */
    private static final long NONE = Long.MAX_VALUE;

    private final Turn turn;
    /** The client's hold in Redis. */
    final Hold lease;

    /** Set if its thread has sent a request to acquire it; of that thread. */
    private boolean asked;
    /** Set once the record of the loss was made, before the turn ends. */
    private volatile boolean recorded;
    /** An earlier loss of its thread that is recorded, or null. */
    private volatile @Nullable ThreadHold earlier;

    ThreadHold(Turn turn, Hold lease, Owner owner, long token, boolean previousLost, long now) {
        super(owner, token, previousLost, now);
        this.turn = turn;
        this.lease = lease;
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
        begin(NONE);
    }

    boolean isBeginning() {
        return super.deadlineNanos() == 0;
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

    @Override
    public boolean isValid(long now) {
        return super.isValid(now) && lease.isValid(now);
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
