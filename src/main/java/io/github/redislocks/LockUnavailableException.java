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

    /**
     * The reason why the caller did not get a lock. Later versions may have more reasons: have a default.
     *
     * @since 0.1.0
     */
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

    private LockUnavailableException(Builder parts) {
        super(parts.message, parts.cause);
        this.reason = parts.reason;
        this.lockName = parts.lockName;
        this.server = parts.server;
        this.mayExist = parts.holdMayExist;
    }

    /**
     * Begins one as the library throws it; for tests of code that catches it, and for what takes the library's place.
     * Unless more is said, it is about no lock, no hold may exist, and no request has failed.
     *
     * <pre>{@code
     * throw LockUnavailableException.builder(Reason.UNANSWERED, "localhost:6379", "Redis does not answer.")
     *         .lockName("inventory")
     *         .holdMayExist(true)
     *         .build();
     * }</pre>
     *
     * @param reason what kept the caller from the lock
     * @param server the address of the server
     * @param message what was wrong, and what to do
     */
    public static Builder builder(Reason reason, String server, String message) {
        return new Builder(reason, server, message);
    }

    /**
     * Collects the content of an exception: {@link LockUnavailableException#builder}.
     *
     * @since 0.1.0
     */
    public static final class Builder {

        private final Reason reason;
        private final String server;
        private final String message;
        private @Nullable String lockName;
        private boolean holdMayExist;
        private @Nullable RedisRequestException cause;

        private Builder(Reason reason, String server, String message) {
            this.reason = Objects.requireNonNull(reason, "reason");
            this.server = Objects.requireNonNull(server, "server");
            this.message = Objects.requireNonNull(message, "message");
        }

        /** The name of the lock that it is about; null if it is about none. */
        public Builder lockName(@Nullable String name) {
            lockName = name;
            return this;
        }

        /** Whether a request may have been executed unanswered. */
        public Builder holdMayExist(boolean mayExist) {
            holdMayExist = mayExist;
            return this;
        }

        /** The request that failed; null if all were answered, as in a grace after a failover. */
        public Builder cause(@Nullable RedisRequestException failed) {
            cause = failed;
            return this;
        }

        /** Makes the exception. */
        public LockUnavailableException build() {
            return new LockUnavailableException(this);
        }
    }

    /** The reason why the caller did not get the lock. */
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
