package io.github.redislocks.residency;

import io.github.redislocks.LockLost;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Timing;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * The use that threads make of one lease: the tokens that they get, and when the last of them unlocked. Only the thread
 * that has the turn changes these, except that any thread may confirm the lease.
 */
final class Usage {

    /**
     * For how long after its beginning a lease gives tokens by the time alone, without a confirmation: as long as a
     * lease that others wait for lasts.
     */
    private static final long UNASKED_NANOS = Timing.SLICE_NANOS;

    // Fields that each turn writes once are written lazily: the volatile write that follows publishes them.
    private static final AtomicLongFieldUpdater<Usage> LAST =
            AtomicLongFieldUpdater.newUpdater(Usage.class, "lastToken");
    private static final AtomicLongFieldUpdater<Usage> UNLOCKED =
            AtomicLongFieldUpdater.newUpdater(Usage.class, "unlockedNanos");

    final Hold lease;
    /** The token of the last thread; 0 before the first. */
    private volatile long lastToken;
    /** Whether the loss of the lease was reported. */
    private volatile boolean told;
    /** When the last request that made Redis confirm the lease was sent. */
    private volatile long confirmedNanos;
    /** When the last thread unlocked, or the lease began. */
    private volatile long unlockedNanos;

    Usage(Hold lease) {
        this.lease = lease;
        this.confirmedNanos = lease.acquiredNanos;
        this.unlockedNanos = lease.acquiredNanos;
    }

    /** Returns true if this is the use of the given lease. */
    @SuppressWarnings("ReferenceEquality")
    boolean isOf(Hold other) {
        return lease == other;
    }

    /**
     * The next token; 0 if there is none yet. The first holder gets the token of the lease, and each later holder one
     * more. A token must be less than Redis' time when Redis last confirmed the lease: then the next owner in Redis
     * gets a greater token, however the lease ended. In the first millisecond of a lease, no confirmation is needed:
     * the token must be less than Redis' time now.
     */
    long nextToken(long now) {
        if (lastToken == 0) {
            return lease.token;
        }
        long began = lease.acquiredNanos;
        long sure = Math.max(confirmedNanos - began, Math.min(now - began, UNASKED_NANOS));
        return lastToken < lease.token + sure * 99 / 100_000 ? lastToken + 1 : 0;
    }

    /** When, by this client's clock, Redis' time has surely passed the next token. */
    long nextTokenNanos() {
        return lease.acquiredNanos + (lastToken + 1 - lease.token) * 100_000 / 99;
    }

    /** Whether the next token needs no confirmation by Redis, but only its time. */
    boolean givesTokensByTime() {
        return nextTokenNanos() - lease.acquiredNanos <= UNASKED_NANOS;
    }

    /** The last token that a thread got; 0 if none did. */
    long lastToken() {
        return lastToken;
    }

    /** Notes the token that a thread gets. */
    void gave(long token) {
        LAST.lazySet(this, token);
    }

    /** The number of times that threads acquired the lock: each has one token more than the one before it. */
    long acquisitions() {
        long last = lastToken;
        return last == 0 ? 0 : last - lease.token + 1;
    }

    /** Redis has answered, to a request of that time, that the lease is there. */
    void confirmed(long sentNanos) {
        confirmedNanos = Math.max(confirmedNanos, sentNanos);
    }

    /** Notes when a thread unlocked. */
    void unlocked(long now) {
        UNLOCKED.lazySet(this, now);
    }

    /** When the last thread unlocked, or the lease began. */
    long unlockedNanos() {
        return unlockedNanos;
    }

    /** Notes that the loss of the lease was reported. */
    void told() {
        told = true;
    }

    /**
     * The loss of the lease, to be reported for the last thread that unlocked after Redis had last confirmed the lease.
     * Null if no thread did, if no other client ended the lease, or if the loss was reported. Call when no thread's
     * hold under the lease is left.
     */
    @Nullable
    LockLost lossOfUnlocked() {
        LockLost.Reason reason = lease.lossReason();
        return reason == LockLost.Reason.TAKEN && !told && unlockedNanos - confirmedNanos > 0
                ? LockLost.of(lease.keys().name(), lastToken, "a thread that has unlocked it since", reason)
                : null;
    }
}
