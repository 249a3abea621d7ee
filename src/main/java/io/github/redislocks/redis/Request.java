package io.github.redislocks.redis;

/**
 * The purpose of a call, and the attempt that makes it. A {@link SingleServer} sends the call's script and ignores the
 * request. A quorum does not use that script: it asks its masters for votes instead, and derives its questions from the
 * request.
 *
 * <p>An attempt is one call that wants a lock, and has a number that is unique in its client. The owner is the id in
 * Redis of the thread, handle or residence.
 */
public sealed interface Request {

    /** Whether the request may give the lock or a place. */
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

        /** How long, in ms, a place that is taken if the lock is busy lasts; 0 to take none. */
        long claimMillis();

        @Override
        default boolean wantsLock() {
            return true;
        }
    }

    /** A request that prolongs a hold, for a lease from now on. */
    sealed interface Keeping extends OfAttempt {

        /** The lease, in ms. */
        long leaseMillis();
    }

    /** A request that ends the attempt, its hold and its place. */
    sealed interface Ending extends OfAttempt {}

    /**
     * Acquires the lock if it is free.
     *
     * @param lastLostAttempt the highest attempt of the client whose hold was lost after the caller had it, or 0
     */
    record Acquire(String owner, long attempt, long leaseMillis, long claimMillis, long lastLostAttempt)
            implements Wanting {}

    /**
     * Asks again for a waiting attempt. If the attempt has been granted the lock already, Redis keeps the hold for
     * {@code claimMillis} from this request on, and not for a full lease: the client may be gone.
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
     * @param countBefore the count that Redis should have, so that a repeated call counts once; 0 to count locally only
     */
    record Reenter(String owner, long attempt, long leaseMillis, int countBefore) implements Keeping {}

    record Release(String owner, long attempt) implements Ending {}

    /**
     * Ends an attempt that does not want the lock any more.
     *
     * @param returned whether the caller had the attempt's hold
     */
    record Leave(String owner, long attempt, boolean returned) implements Ending {}

    /** Ends the hold of an attempt without its owner. */
    record Force(String owner, long attempt) implements Request {}

    /** Requests that a quorum sends to each of its masters unchanged; the reply of a majority counts. */
    enum Plain implements Request {
        CHECK,
        LOCKED,
        HELD,
        INSPECT,
        RELEASE_INNER
    }

    /** Requests that need a single server, which has the queue of waiters. */
    enum OfOneServer implements Request {
        /** Takes a free lock. */
        TAKE(true),
        /** Takes several locks, all or none. */
        TAKE_ALL(true),
        /** Queues for the lock after a wait in a Condition. */
        REJOIN(true),
        /** Renews several locks, for a lease from now on. */
        RENEW_ALL(false),
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
