package io.github.redislocks.shared;

import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;

/**
 * A thread's or a handle's possession of a lock under a share, as an object. The object for a thread is made only when
 * something needs it: a listener, a query, or the loss of the share. The end of the possession does not end the share.
 */
final class ReadHold extends Held {

    /** Stands for a deadline: the possession has no deadline of its own, since it ends with the share. */
    private static final long NONE = Long.MAX_VALUE;

    private final Hold share;
    private final boolean asked;

    /**
     * Makes the possession of an owner that reads.
     *
     * @param asked whether the owner acquired the share by a request
     */
    ReadHold(Hold share, Owner owner, long acquiredNanos, boolean asked) {
        super(owner, share.token, share.previousLost, acquiredNanos);
        this.share = share;
        this.asked = asked;
        begin(NONE);
    }

    /** Returns true if the owner reads, or read, under this share. */
    @SuppressWarnings("ReferenceEquality")
    boolean isUnder(Hold other) {
        return share == other;
    }

    /** Notes that the loss of another hold is reported in place of the loss of this one. */
    void reportedOtherwise() {
        if (beginTelling()) {
            endTelling(true);
        }
    }

    @Override
    public boolean isUnasked() {
        return !asked;
    }

    @Override
    public String lock() {
        return share.lock();
    }

    @Override
    public LockKeys keys() {
        return super.keys().toRead();
    }

    @Override
    public boolean isValid(long now) {
        return super.isValid(now) && share.isValid(now);
    }

    @Override
    public long deadlineNanos() {
        return isOpen() ? share.deadlineNanos() : 0;
    }
}
