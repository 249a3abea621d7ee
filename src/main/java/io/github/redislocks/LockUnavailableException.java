package io.github.redislocks;

import java.io.Serial;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if Redis gave no answer, or refused, so that it is not known whether the lock is free. The message names the
 * server, how long the call tried, and whether a hold may exist in Redis. If one may exist, the library ends it as soon
 * as Redis is back, and its lease ends it at the latest. After a failed acquisition the caller does not hold the lock.
 *
 * <pre>{@code
 * try {
 *     lock.lock();
 * } catch (LockUnavailableException e) {
 *     return e.reason() == LockUnavailableException.Reason.REFUSED ? misconfigured(e) : tryLater(e);
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LockUnavailableException extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1L;

    /** What kept the caller from a lock. Later versions may add values, so handle unknown ones as well. */
    public enum Reason {
        /** The server gave no usable answer in time: it is away, hangs, or the connection failed. */
        UNANSWERED,
        /** The server refused the request: the user lacks a right, its memory is full, or it is a replica. */
        REFUSED,
        /**
         * The server is unsuitable for locks: it is too old, a replica, or one node of a cluster, or it refuses this
         * user a command.
         */
        UNSUITABLE,
        /** Fewer replicas than {@code replicaAcks} confirmed what was written. */
        TOO_FEW_REPLICAS,
        /** The server has just become the master, and {@code failoverGrace} is not over. */
        FAILOVER_GRACE,
        /** Too many masters of a quorum have just started, and their {@code restartDelay} is not over. */
        RESTART_DELAY,
        /** Replies took longer than the lease, so that each grant had ended when its reply came. */
        LEASE_TOO_SHORT
    }

    private final Reason reason;
    private final @Nullable String lockName;
    private final String server;
    private final boolean mayExist;

    /**
     * Makes the exception. For the library, and for tests that replace it.
     *
     * @param reason what kept the caller from the lock
     * @param lockName the name of the lock, or null if the failure concerns no lock
     * @param server the address of the server
     * @param message what was wrong, and what to do
     * @param mayExist whether a request may have been executed unanswered
     * @param cause the request that failed, or null if all were answered, as during the grace after a failover
     */
    public LockUnavailableException(
            Reason reason,
            @Nullable String lockName,
            String server,
            String message,
            boolean mayExist,
            @Nullable RedisRequestException cause) {
        super(message, cause);
        this.reason = Objects.requireNonNull(reason, "reason");
        this.lockName = lockName;
        this.server = Objects.requireNonNull(server, "server");
        this.mayExist = mayExist;
    }

    /** What kept the caller from the lock. */
    public Reason reason() {
        return reason;
    }

    /** The name of the lock; null if no lock was asked for yet, as when a client connects. */
    public @Nullable String lockName() {
        return lockName;
    }

    /** The address of the server, or those of all masters of a quorum. */
    public String server() {
        return server;
    }

    /** Whether a request may have been executed unanswered, so that a hold may exist until it is cleaned up. */
    public boolean holdMayExist() {
        return mayExist;
    }
}
