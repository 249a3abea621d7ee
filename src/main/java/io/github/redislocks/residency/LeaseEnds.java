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
 * The ends of leases: says why a lease is not to be kept, and gives up in the background what no thread uses.
 *
 * <p>If an error stops a thread that releases a lease, its turn ends all the same, and the residence goes on to have
 * the lease. A lease that is being released while the turn is free was left by an error: the next thread that takes the
 * turn, or the watchdog, has the release continued.
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

    /** No lease is kept from now on. */
    void close() {
        closed = true;
    }

    /**
     * Why a lease must be given up, as {@link #reason} says. Null if it may be kept: there is no reason, or its slice
     * lasts and a thread of this client is next.
     *
     * @param passes whether a thread of this client would have the lock next
     */
    LockGivenUp.@Nullable Reason whyOver(Residence residence, Hold lease, long now, boolean passes) {
        LockGivenUp.Reason reason = reason(residence, lease);
        return reason != null && passes && isYoung(lease, now) ? null : reason;
    }

    /** Returns true while the slice of a lease lasts, in which threads of this client come first. */
    private static boolean isYoung(Hold lease, long now) {
        return now - lease.acquiredNanos < Timing.SLICE_NANOS;
    }

    /** Why a lease must be given up even if it was used just now: the first of the possible reasons, or null. */
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
        // `outlasts`: a thread took this lock with a longer lease than the client now renews, and has released it.
        // Then give the lock up, so that others need not wait for the longer lease if this client crashes.
        boolean outlasts = lease.longestLeaseMillis() > lease.renewedMillis();
        return !outlasts && localQueue.successor(residence.keys, lease.attempt) == null
                ? null
                : LockGivenUp.Reason.OWN_HOLD;
    }

    /**
     * Makes the event of a lease that is given up; null if there is no listener. Its reason is the one that
     * {@link #reason} finds, or else {@code otherwise}. Call under the turn, before the release.
     */
    @Nullable
    GivingUp event(Residence residence, Hold lease, LockGivenUp.Reason otherwise) {
        if (!events.isHeard()) {
            return null;
        }
        LockGivenUp.Reason found = reason(residence, lease);
        return residence.givingUp(lease, found == null ? otherwise : found);
    }

    /** Notifies the listeners of what was given up. Call last: this may throw an error. */
    void publish(@Nullable GivingUp event) {
        if (event != null) {
            long now = clock.nanoTime();
            events.givenUp(() -> event.at(now));
        }
    }

    /** Call after every turn: requests that arrived meanwhile were left to the thread that had the turn. */
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
     * Answers the tries of other clients once it is clear whether a thread has the lock. Until then the thread that has
     * the turn is about to have the lock, or to release it, and calls this afterwards.
     */
    void answerTries(Residence residence) {
        while (residence.isAsked()) {
            if (residence.lease() != null && residence.holding() == null) {
                // The turn ends with the release, and its end calls this method again.
                giveUpIfIdle(residence, LockGivenUp.Reason.RECALLED, null);
                if (residence.lease() != null) {
                    return;
                }
                // The lease was lost meanwhile, so no release follows.
            }
            // Check the stack before the task is taken: after a StackOverflowError nobody would run the task.
            StackSpace.ensureLocal();
            Runnable next = residence.nextAsked();
            if (next != null) {
                next.run();
            }
        }
    }

    /**
     * Gives a lease up if no thread uses it and there is a reason: {@code otherwise}, or if that is null, the one that
     * {@link #reason} finds.
     *
     * @param together where to add the release, to send it with others; null to send it at once
     */
    void giveUpIfIdle(Residence residence, LockGivenUp.@Nullable Reason otherwise, @Nullable Departure together) {
        if (residence.lease() == null) {
            return;
        }
        // Check the stack before the turn is taken: after a StackOverflowError nobody would end the turn.
        StackSpace.ensureLocal();
        if (!residence.turn.tryTakeFirst()) {
            // The thread that has the turn checks this when it ends the turn.
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
            // After an error do not call this: the error would come again. The watchdog inspects the lease again.
            turnEnded(residence);
        }
    }

    /**
     * Continues in the background a release that an error has stopped; false if there is none. Call under the turn,
     * under which no other thread releases the lease.
     */
    boolean continued(Hold lease) {
        boolean left = lease.isReleasing();
        if (left) {
            handoff.rescue(lease);
        }
        return left;
    }

    /**
     * Releases a lease in the background. The caller's turn ends with the release. Until then no thread of this client
     * asks Redis for the lock, since its request could overtake the release.
     */
    private void giveUp(Residence residence, Hold lease, LockGivenUp.Reason otherwise, @Nullable Departure together) {
        residence.releases(lease);
        boolean sent = false;
        try {
            LeaseEnd end = new LeaseEnd(residence, lease, event(residence, lease, otherwise));
            // Make the writes of the last holder visible to the next one, which may be a thread of another client in
            // this JVM.
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

    /** The end of the release of a lease. */
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
                // Forget the lease after its hold: if an error keeps the hold, the release is continued.
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

    /** Leases whose releases are sent together, a limited number with each request. */
    final class Departure {

        private final List<LeaseEnd> leaving = new ArrayList<>();

        private void add(LeaseEnd end) {
            leaving.add(end);
            if (leaving.size() == Renewals.BATCH) {
                leave();
            }
        }

        /** Sends what has not been sent. */
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
