package io.github.redislocks.residency;

import io.github.redislocks.LockGivenUp;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.MemoryEdge;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.Timing;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.LocalQueue;
import io.github.redislocks.waiting.Mailbox;
import io.github.redislocks.waiting.WaitingParts;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a lease must be given up, and why. Gives up, in the background, leases that no thread uses.
 *
 * <p>If a thread that releases a lease meets an error, the thread's turn ends all the same, and the lease stays, in the
 * state <i>releasing</i>. So if the turn is free and the lease is releasing, an error has stopped the release. The next
 * thread that takes the turn, or the watchdog, then continues the release in the background.
 */
final class LeaseEnds {

    private final Clock clock;
    private final Holds holds;
    private final LocalQueue localQueue;
    private final Mailbox mailbox;
    private final Handoff handoff;
    private final Losses losses;
    private final EventNotifier events;
    private volatile boolean closed;

    LeaseEnds(RedisAccess access, WaitingParts parts, EventNotifier events) {
        this.clock = access.clock();
        this.holds = parts.holds();
        this.localQueue = parts.localQueue();
        this.mailbox = parts.mailbox();
        this.handoff = parts.handoff();
        this.losses = parts.losses();
        this.events = events;
    }

    /** From now on, every lease must be given up. */
    void close() {
        closed = true;
    }

    /**
     * The {@link #reason} why a lease must be given up; null if the lease may be kept. During the lease's slice it may
     * be kept in spite of a reason, if a thread of this client is next.
     *
     * @param passes whether a thread of this client is next to get the lock
     */
    LockGivenUp.@Nullable Reason whyOver(Residence residence, Hold lease, long now, boolean passes) {
        LockGivenUp.Reason reason = reason(residence, lease);
        return reason != null && passes && isYoung(lease, now) ? null : reason;
    }

    /**
     * Returns true during the slice of a lease: the time after its acquisition in which threads of this client come
     * first.
     */
    private static boolean isYoung(Hold lease, long now) {
        return now - lease.acquiredNanos < Timing.SLICE_NANOS;
    }

    /**
     * Why a lease must be given up even if threads use it, or null. Of several reasons, returns the first in the order
     * below.
     */
    LockGivenUp.@Nullable Reason reason(Residence residence, Hold lease) {
        if (residence.isRecalled(lease)) {
            return LockGivenUp.Reason.RECALLED;
        }
        if (residence.foundOthers()) {
            return LockGivenUp.Reason.CONTENDED;
        }
        if (closed) {
            return LockGivenUp.Reason.CLOSED;
        }
        if (!mailbox.isOpen()) {
            return LockGivenUp.Reason.NOT_LISTENING;
        }
        // `outlasts` is true if a thread took this lock with a longer lease time than the present one, and has
        // unlocked. Then give the lease up: if this client crashed, others would have to wait for the longer time.
        boolean outlasts = lease.longestLeaseMillis() > lease.renewedMillis();
        return !outlasts && localQueue.successor(residence.keys, lease.attempt) == null
                ? null
                : LockGivenUp.Reason.OWN_HOLD;
    }

    /**
     * Makes the event of a lease that is given up; null if there is no listener. The event has the {@link #reason}, or
     * {@code otherwise} if that is null. Call while having the turn, before the release.
     */
    @Nullable
    GivingUp event(Residence residence, Hold lease, LockGivenUp.Reason otherwise) {
        if (!events.isHeard()) {
            return null;
        }
        LockGivenUp.Reason found = reason(residence, lease);
        return residence.givingUp(lease, found == null ? otherwise : found);
    }

    /** Notifies the listeners that a lease was given up. Call last, since this method may throw an error. */
    void publish(@Nullable GivingUp event) {
        if (event != null) {
            long now = clock.nanoTime();
            events.givenUp(() -> event.at(now));
        }
    }

    /**
     * Call after every turn. Others may have wanted the lock during the turn, and have left the decision to the thread
     * that had the turn: this method answers tries, and gives the lease up if there is a reason.
     */
    void turnEnded(Residence residence) {
        answerTries(residence);
        Hold lease = residence.lease();
        if (lease != null
                && residence.holding() == null
                && reason(residence, lease) != null
                && !(residence.turn.isWanted() && isYoung(lease, clock.nanoTime()))) {
            giveUpIfIdle(residence, null, null);
        }
    }

    /**
     * Answers the tries of other clients once it is clear whether a thread has the lock. If it is not clear yet, does
     * nothing: a thread that has the turn is about to get or to release the lock, and calls this method afterwards.
     */
    void answerTries(Residence residence) {
        while (residence.isAsked()) {
            if (residence.lease() != null && residence.holding() == null) {
                // If this gives the lease up, the end of the release calls this method again.
                giveUpIfIdle(residence, LockGivenUp.Reason.RECALLED, null);
                if (residence.lease() != null) {
                    return;
                }
                // There is no lease any more, so no release will call this method: answer now.
            }
            // Check the stack before the task leaves the queue: after a StackOverflowError nobody would run the task.
            StackSpace.ensure();
            Runnable next = residence.nextAsked();
            if (next != null) {
                next.run();
            }
        }
    }

    /**
     * Gives the lease up if the turn is free and there is a reason.
     *
     * @param otherwise the reason; null for the one that {@link #reason} finds, if there is one
     * @param together collects releases to send them together; null to send the release at once
     */
    void giveUpIfIdle(Residence residence, LockGivenUp.@Nullable Reason otherwise, @Nullable Departure together) {
        if (residence.lease() == null) {
            return;
        }
        // Check the stack for the whole release: after a StackOverflowError in it, the turn must end all the same.
        StackSpace.ensure();
        if (!residence.turn.tryTakeFirst()) {
            // The thread that has the turn calls turnEnded(), which checks this again.
            return;
        }
        boolean mayEnd = true;
        try {
            Hold lease = residence.lease();
            if (lease != null && !continued(lease)) {
                LockGivenUp.Reason reason = otherwise == null ? reason(residence, lease) : otherwise;
                if (reason != null) {
                    mayEnd = false;
                    giveUp(residence, lease, reason, together);
                }
            }
        } finally {
            if (mayEnd) {
                residence.turn.end();
            }
        }
        if (mayEnd) {
            // Do not call this after an error, which would only occur again. The watchdog inspects the lease again.
            turnEnded(residence);
        }
    }

    /**
     * If an error has stopped the release of this lease, continues the release in the background and returns true. Call
     * while having the turn, so that no other thread is releasing the lease.
     */
    boolean continued(Hold lease) {
        boolean left = lease.isReleasing();
        if (left) {
            handoff.rescue(lease);
        }
        return left;
    }

    /**
     * Releases a lease in the background. The caller's turn ends only with the release: a thread that got the turn
     * before could send a request that overtakes the release.
     */
    private void giveUp(Residence residence, Hold lease, LockGivenUp.Reason otherwise, @Nullable Departure together) {
        residence.releases(lease);
        boolean sent = false;
        try {
            LeaseEnd end = new LeaseEnd(residence, lease, event(residence, lease, otherwise));
            // Make the last holder's writes visible to the next holder, which may be a thread of another client in this
            // JVM.
            MemoryEdge.publish();
            release(end, together);
            sent = true;
        } finally {
            if (!sent) {
                residence.released(lease);
            }
        }
    }

    private void release(LeaseEnd end, @Nullable Departure together) {
        Hold lease = end.lease;
        long until = lease.beginRelease(clock.nanoTime());
        if (until == 0) {
            losses.isValid(lease);
            end.ended(false);
            return;
        }
        lease.names(handoff.successor(lease));
        if (together != null && lease.successor() == null && handoff.mayReleaseTogether()) {
            end.untilNanos = until;
            together.add(end);
        } else {
            handoff.release(lease, false, until, end);
        }
    }

    /** The action that follows the release of one lease. */
    private final class LeaseEnd implements Handoff.Leaving {

        private final Residence residence;
        private final Hold lease;
        private final @Nullable GivingUp event;
        private long untilNanos;

        LeaseEnd(Residence residence, Hold lease, @Nullable GivingUp event) {
            this.residence = residence;
            this.lease = lease;
            this.event = event;
        }

        @Override
        public Hold hold() {
            return lease;
        }

        @Override
        public long untilNanos() {
            return untilNanos;
        }

        @Override
        public void ended(boolean inGoodOrder) {
            try {
                if (!inGoodOrder) {
                    losses.ended(lease);
                }
                holds.remove(lease);
                // Remove the lease from the holds first: if that fails, the residence still has the lease, and the
                // release is continued later.
                residence.ended(lease);
                if (inGoodOrder) {
                    publish(event);
                }
            } finally {
                if (residence.released(lease)) {
                    turnEnded(residence);
                }
            }
        }
    }

    /** Collects releases of leases, and sends {@link Renewals#BATCH} of them in one request. */
    final class Departure {

        private final List<LeaseEnd> leaving = new ArrayList<>();

        private void add(LeaseEnd end) {
            leaving.add(end);
            if (leaving.size() == Renewals.BATCH) {
                leave();
            }
        }

        /** Sends the collected releases. */
        void leave() {
            boolean sent = leaving.isEmpty();
            try {
                if (!sent) {
                    handoff.releaseTogether(leaving);
                    sent = true;
                }
            } finally {
                for (int i = 0; !sent && i < leaving.size(); i++) {
                    leaving.get(i).residence.released(leaving.get(i).lease);
                }
                leaving.clear();
            }
        }
    }
}
