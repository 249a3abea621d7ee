package io.github.redislocks.residency;

import io.github.redislocks.LockLost;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Timing;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * The actions of a client's threads under one lease: the tokens that they get, and when the last thread unlocked. Only
 * the thread that has the turn changes a usage, except that any thread may confirm the lease.
 */
final class Usage {

    /**
     * The time after the acquisition of a lease in which tokens need no confirmation of the lease. It is one slice: a
     * client gives up a lease that others wait for after a slice, so such a lease needs no confirmation.
     */
    private static final long UNASKED_NANOS = Timing.SLICE_NANOS;

    // lazySet is enough for fields that change once in each turn: the volatile write that ends the turn publishes them.
    private static final AtomicLongFieldUpdater<Usage> LAST =
            AtomicLongFieldUpdater.newUpdater(Usage.class, "lastToken");
    private static final AtomicLongFieldUpdater<Usage> UNLOCKED =
            AtomicLongFieldUpdater.newUpdater(Usage.class, "unlockedNanos");

    final Hold lease;
    /** The token of the last thread that got the lock; 0 if no thread did. */
    private volatile long lastToken;
    /** Whether the loss of the lease was reported. */
    private volatile boolean told;
    /** The sending time of the last request to which Redis answered that the lease exists. */
    private volatile long confirmedNanos;
    /** When the last thread unlocked; before the first unlock, when the lease was acquired. */
    private volatile long unlockedNanos;

    Usage(Hold lease) {
        this.lease = lease;
        this.confirmedNanos = lease.acquiredNanos;
        this.unlockedNanos = lease.acquiredNanos;
    }

    /** Returns true if this is the usage of the given lease. */
    @SuppressWarnings("ReferenceEquality")
    boolean isOf(Hold other) {
        return lease == other;
    }

    /**
     * The next token; 0 if there is none yet. The first thread gets the token of the lease, and each later thread a
     * token that is greater by one. The next owner in Redis must get a greater token, however the lease ends. Since
     * tokens of Redis are at least its time in microseconds, a token may be given if it is less than Redis' time when
     * Redis last confirmed the lease. In the first millisecond of a lease, no confirmation is needed: there the token
     * must be less than Redis' present time.
     */
    long nextToken(long now) {
        if (lastToken == 0) {
            return lease.token;
        }
        long began = lease.acquiredNanos;
        long sure = Math.max(confirmedNanos - began, Math.min(now - began, UNASKED_NANOS));
        return lastToken < lease.token + sure * 99 / 100_000 ? lastToken + 1 : 0;
    }

    /** The time of this client's clock at which Redis' time is certainly greater than the next token. */
    long nextTokenNanos() {
        return lease.acquiredNanos + (lastToken + 1 - lease.token) * 100_000 / 99;
    }

    /**
     * Whether the next token needs no confirmation by Redis, but can be given once {@link #nextTokenNanos} has passed.
     */
    boolean givesTokensByTime() {
        return nextTokenNanos() - lease.acquiredNanos <= UNASKED_NANOS;
    }

    /** The last token that a thread got; 0 if none did. */
    long lastToken() {
        return lastToken;
    }

    /** Notes that a thread got this token. */
    void gave(long token) {
        LAST.lazySet(this, token);
    }

    /** How often threads acquired the lock. The tokens of these acquisitions are consecutive. */
    long acquisitions() {
        long last = lastToken;
        return last == 0 ? 0 : last - lease.token + 1;
    }

    /**
     * Notes that Redis has answered that the lease exists.
     *
     * @param sentNanos when the request was sent
     */
    void confirmed(long sentNanos) {
        confirmedNanos = Math.max(confirmedNanos, sentNanos);
    }

    /** Notes when a thread unlocked. */
    void unlocked(long now) {
        UNLOCKED.lazySet(this, now);
    }

    /** When the last thread unlocked; before the first unlock, when the lease was acquired. */
    long unlockedNanos() {
        return unlockedNanos;
    }

    /** Notes that the loss of the lease was reported. */
    void told() {
        told = true;
    }

    /**
     * The loss of a lease that must be reported although no thread has the lock. This is so if another client ended the
     * lease, and a thread unlocked after Redis had last confirmed the lease: that thread may have had the lock when the
     * lease ended. Otherwise null; also null if the loss was reported before. Call when no thread has a hold under the
     * lease.
     */
    @Nullable
    LockLost lossOfUnlocked() {
        LockLost.Reason reason = lease.lossReason();
        return reason == LockLost.Reason.TAKEN && !told && unlockedNanos - confirmedNanos > 0
                ? LockLost.of(lease.keys().name(), lastToken, "a thread that has unlocked it since", reason)
                : null;
    }
}
