package io.github.redislocks;

import java.io.Serial;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Redis gave no answer, or refused, so that nobody knows whether the lock is free. The caller does not hold it. The
 * message tells which server, for how long it was tried, and whether a hold may exist in Redis; if so, the library ends
 * it as soon as Redis is back, and its lease ends it at the latest.
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

    /**
     * What kept the caller from a lock. Later versions may have more of them: have a default for the rest.
     *
     * @since 0.1.0
     */
    public enum Reason {
        /** The server gave no usable answer in time: it is away, hangs, or the connection failed. */
        UNANSWERED,
        /** The server answered that it will not or cannot: a right is missing, the memory is full, it is a replica. */
        REFUSED,
        /** The server cannot serve locks as it is: it is too old, evicts keys, or is a replica. */
        UNSUITABLE,
        /** Fewer replicas than {@code replicaAcks} confirmed what was written. */
        TOO_FEW_REPLICAS,
        /** The server has just become the master, and {@code failoverGrace} is not over. */
        FAILOVER_GRACE,
        /** Too many masters of a quorum have just started, and their {@code restartDelay} is not over. */
        RESTART_DELAY,
        /** Answers took longer than the lease, so that each had lapsed when it came. */
        LEASE_TOO_SHORT
    }

    private final Reason reason;
    private final @Nullable String lockName;
    private final String server;
    private final boolean mayExist;

    /**
     * The library makes it, and so does what takes the library's place in a test.
     *
     * @param reason what kept the caller from the lock
     * @param lockName the name of the lock, or null if it is about none
     * @param server the address of the server
     * @param message what was wrong, and what to do
     * @param mayExist whether a request may have been executed unanswered
     * @param cause the request that failed, or null if all were answered, as in a grace after a failover
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
