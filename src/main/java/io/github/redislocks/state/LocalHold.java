package io.github.redislocks.state;

import io.github.redislocks.LockLost;
import org.jspecify.annotations.Nullable;

/**
 * A thread's hold of a lock that its client has in Redis, as a {@link Residence}. Redis does not know of it. It is
 * valid for as long as the residence is.
 */
public final class LocalHold extends Hold {

    /** What the client has in Redis. */
    private final Hold lease;

    public final Residence residence;
    /** Whether its thread has asked Redis to come to it; of that thread. */
    private boolean asked;
    /** Whether the record of its loss was made; set before its turn ends. */
    private volatile boolean recorded;

    LocalHold(
            Residence residence,
            Hold lease,
            Owner owner,
            long token,
            boolean previousLost,
            long now,
            @Nullable Hold below) {
        super(lease, owner, token, previousLost, now, below);
        this.lease = lease;
        this.residence = residence;
    }

    /** Whether the record of its loss was made. */
    boolean isRecorded() {
        return recorded;
    }

    /** Notes that the record of its loss was made. */
    void recorded() {
        recorded = true;
    }

    /** Notes that its thread has asked Redis to come to it; of that thread. */
    public void asked() {
        asked = true;
    }

    /** Whether its thread has asked Redis to come to it; of that thread. */
    public boolean hasAsked() {
        return asked;
    }

    @Override
    public Hold inRedis() {
        return lease;
    }

    @Override
    public boolean isLocal() {
        return true;
    }

    /** Whether it is under this lease. */
    @SuppressWarnings("ReferenceEquality")
    public boolean isUnder(Hold other) {
        return lease == other;
    }

    @Override
    public boolean isValid(long now) {
        return super.isValid(now) && lease.isValid(now);
    }

    @Override
    public long deadlineNanos() {
        return isOpen() ? lease.deadlineNanos() : super.deadlineNanos();
    }

    @Override
    public boolean covers(long now, long wantedMillis, boolean renewed) {
        // It is renewed for as long as a thread has the lock, but a lease that is named counts from now.
        return isValid(now)
                && (renewed
                        ? lease.renewedMillis() >= wantedMillis
                        : lease.deadlineNanos() >= now + Timing.validityNanos(wantedMillis));
    }

    @Override
    public boolean loseIfPast(long now) {
        LockLost.Reason reason = lease.lossReason();
        return reason != null && lose(reason);
    }

    @Override
    public long beginRelease(long now) {
        long until = lease.deadlineNanos();
        return isValid(now) && super.beginRelease(now) != 0 ? until : 0;
    }
}
