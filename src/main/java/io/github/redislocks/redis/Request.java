package io.github.redislocks.redis;

/**
 * The purpose of a call, and the attempt that makes it. A {@link SingleServer} ignores the request and sends the call's
 * script. A quorum ignores the script: it asks its masters for votes, with questions derived from the request.
 *
 * <p>An attempt is one call that wants a lock, and has a number that is unique in its client. The owner is the id in
 * Redis of the thread, handle or residence.
 */
public sealed interface Request {

    /** Whether the request may get the lock or a place in the queue. */
    default boolean wantsLock() {
        return false;
    }

    /**
     * Whether the request renews holds in the background. With {@code watchDeletions} the script also reads the keys of
     * these holds at its end, so that Redis reports later changes of the keys.
     */
    default boolean renews() {
        return false;
    }

    /** A request that names an attempt and its owner. */
    sealed interface OfAttempt extends Request {

        String owner();

        long attempt();
    }

    /** A request that wants the lock. */
    sealed interface Wanting extends OfAttempt {

        /** The lease, in ms. */
        long leaseMillis();

        /** How long a place in the queue lasts, in ms, if the lock is busy; 0 to take no place. */
        long claimMillis();

        @Override
        default boolean wantsLock() {
            return true;
        }
    }

    /** A request that prolongs a hold: it gives the hold a new lease from now on. */
    sealed interface Keeping extends OfAttempt {

        /** The lease, in ms. */
        long leaseMillis();
    }

    /** A request that ends the attempt, with its hold and its place. */
    sealed interface Ending extends OfAttempt {}

    /**
     * Acquires the lock if it is free.
     *
     * @param lastLostAttempt the number of the latest attempt of the client whose hold was lost after its caller got
     *     the lock; 0 if there is none
     */
    record Acquire(String owner, long attempt, long leaseMillis, long claimMillis, long lastLostAttempt)
            implements Wanting {}

    /**
     * Asks for a waiting attempt whether it got the lock. If it did, the hold lasts for {@code claimMillis} from this
     * request on, not for a full lease, since the client may end before it reads the reply.
     */
    record Heartbeat(String owner, long attempt, long claimMillis) implements Wanting {

        @Override
        public long leaseMillis() {
            return claimMillis;
        }
    }

    record Renew(String owner, long attempt, long leaseMillis) implements Keeping {

        @Override
        public boolean renews() {
            return true;
        }
    }

    /**
     * Counts a re-entry of a hold.
     *
     * @param countBefore the count that Redis has before this call, so that a repeated call counts once; 0 if only the
     *     client counts
     */
    record Reenter(String owner, long attempt, long leaseMillis, int countBefore) implements Keeping {}

    record Release(String owner, long attempt) implements Ending {}

    /**
     * Ends an attempt that no longer wants the lock.
     *
     * @param returned whether the caller got the lock
     */
    record Leave(String owner, long attempt, boolean returned) implements Ending {}

    /** Ends the hold of an attempt, on behalf of somebody other than its owner. */
    record Force(String owner, long attempt) implements Request {}

    /** Requests that a quorum sends to each of its masters unchanged. The reply of a majority counts. */
    enum Plain implements Request {
        CHECK,
        LOCKED,
        HELD,
        INSPECT,
        RELEASE_INNER
    }

    /** Requests that a quorum does not know, since only a single server has the queue of waiters. */
    enum OfOneServer implements Request {
        /** Takes a free lock. */
        TAKE(true),
        /** Takes several free locks, all or none. */
        TAKE_ALL(true),
        /** Takes a place in the queue after a wait in a Condition. */
        REJOIN(true),
        /** Takes a share. */
        SHARE(true),
        /** Renews several holds: each gets a new lease from now on. */
        RENEW_ALL(false),
        /** Renews shares, as {@link #RENEW_ALL} renews holds. */
        RENEW_SHARES(false),
        /** All other requests. */
        OTHER(false);

        private final boolean wantsLock;

        OfOneServer(boolean wantsLock) {
            this.wantsLock = wantsLock;
        }

        @Override
        public boolean wantsLock() {
            return wantsLock;
        }

        @Override
        public boolean renews() {
            return this == RENEW_ALL;
        }
    }
}
