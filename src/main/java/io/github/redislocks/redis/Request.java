package io.github.redislocks.redis;

/**
 * What a call asks for, and of which attempt. A port to one server sends the call's script. A quorum has no use for
 * that script: it asks its masters for their votes instead, by what stands here.
 *
 * <p>An attempt is one try of one thread to have a lock, and is known by its number in its client. The owner is that
 * thread, as Redis knows it.
 */
public sealed interface Request {

    /** Whether it may give the lock or a place. Then each answer that has values ends with the time of the server. */
    default boolean wantsLock() {
        return false;
    }

    /** One for an attempt. */
    sealed interface OfAttempt extends Request {

        String owner();

        long attempt();
    }

    /** One that wants the lock. */
    sealed interface Wanting extends OfAttempt {

        /** In ms. */
        long leaseMillis();

        /** How long the place in line lasts that it takes if the lock is another's, in ms; 0 if it takes none. */
        long claimMillis();

        @Override
        default boolean wantsLock() {
            return true;
        }
    }

    /** One that wants to keep the lock, for a lease from now on. */
    sealed interface Keeping extends OfAttempt {

        /** In ms. */
        long leaseMillis();
    }

    /** One that ends the attempt, its hold and its place. */
    sealed interface Ending extends OfAttempt {}

    /**
     * For the lock, if it can be had.
     *
     * @param lastLostAttempt the greatest attempt of the client whose hold was lost after its caller had it, or 0
     */
    record Acquire(String owner, long attempt, long leaseMillis, long claimMillis, long lastLostAttempt)
            implements Wanting {}

    /** The lease of a hold that is found by it is a claim. */
    record Heartbeat(String owner, long attempt, long claimMillis) implements Wanting {

        @Override
        public long leaseMillis() {
            return claimMillis;
        }
    }

    record Renew(String owner, long attempt, long leaseMillis) implements Keeping {}

    /**
     * Enters a hold once more.
     *
     * @param countBefore how often Redis shows it held, so that it is counted once; 0 not to count it there
     */
    record Reenter(String owner, long attempt, long leaseMillis, int countBefore) implements Keeping {}

    record Release(String owner, long attempt) implements Ending {}

    /**
     * Ends an attempt whose thread does not want the lock any more.
     *
     * @param returned whether the attempt's hold was once returned to its caller
     */
    record Leave(String owner, long attempt, boolean returned) implements Ending {}

    /** Ends the hold with a token, whoever has it. */
    record Force(long token) implements Request {}

    /** What each master of a quorum is asked as it stands: the answer of a majority counts. */
    enum Plain implements Request {
        CHECK,
        LOCKED,
        HELD,
        INSPECT,
        RELEASE_INNER
    }

    /** What only one server can be asked, which has the line of waiters. */
    enum OfOneServer implements Request {
        /** To take a lock that is free. */
        TAKE(true),
        /** To queue for the lock after waiting in a Condition. */
        REJOIN(true),
        /** To keep several locks, for a lease from now on. */
        RENEW_ALL(false),
        /** All others. */
        OTHER(false);

        private final boolean wantsLock;

        OfOneServer(boolean wantsLock) {
            this.wantsLock = wantsLock;
        }

        @Override
        public boolean wantsLock() {
            return wantsLock;
        }
    }
}
