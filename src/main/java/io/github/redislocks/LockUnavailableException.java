package io.github.redislocks;

import java.io.Serial;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if Redis did not answer or refused, so that nobody knows whether the lock is free. After a failed acquisition
 * the caller does not hold the lock. But a hold of the caller may exist in Redis: the library ends such a hold as soon
 * as Redis is back, and the hold ends with its lease at the latest. The message names the server, and says how long the
 * call tried and whether such a hold may exist.
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
     * Why the caller did not get a lock. Later versions may add reasons, so a {@code switch} needs a default.
     *
     * @since 0.1.0
     */
    public enum Reason {
        /** The server gave no usable answer in time: the server is away or hangs, or the connection failed. */
        UNANSWERED,
        /**
         * The server refused the request: the user lacks a right, the server's memory is full, or the server is a
         * replica.
         */
        REFUSED,
        /**
         * The server is unsuitable for locks: it is too old, it is a replica, it is one node of a cluster, or this user
         * may not run a command.
         */
        UNSUITABLE,
        /** Too few replicas confirmed the hold: fewer than {@link RedisLocksBuilder#replicaAcks}. */
        TOO_FEW_REPLICAS,
        /** The server has just become the master, and the {@link RedisLocksBuilder#failoverGrace} is not over. */
        FAILOVER_GRACE,
        /**
         * Too many masters of a quorum have just started, and their {@link RedisLocksBuilder#restartDelay} is not over.
         */
        RESTART_DELAY,
        /** The replies took longer than the lease, so that each hold had ended when its reply came. */
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
     * Returns a builder of an exception, for tests of code that catches the exception, and for other implementations of
     * {@link Locks}. By default the exception names no lock, says that no hold can exist, and has no cause.
     *
     * <pre>{@code
     * throw LockUnavailableException.builder(Reason.UNANSWERED, "localhost:6379", "Redis does not answer.")
     *         .lockName("inventory")
     *         .holdMayExist(true)
     *         .build();
     * }</pre>
     *
     * @param reason why the caller did not get the lock
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

        /** Sets the name of the lock; null if the exception concerns no single lock. */
        public Builder lockName(@Nullable String name) {
            lockName = name;
            return this;
        }

        /** Sets whether Redis may have executed a request that it did not answer, so that a hold may exist. */
        public Builder holdMayExist(boolean mayExist) {
            holdMayExist = mayExist;
            return this;
        }

        /** Sets the failure of the request; null if all requests were answered, as during the failoverGrace. */
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

    /** The name of the lock; null if the call concerned no single lock, as the start of a client does. */
    public @Nullable String lockName() {
        return lockName;
    }

    /** The address of the server, or the addresses of all masters of a quorum. */
    public String server() {
        return server;
    }

    /**
     * Whether Redis may have executed a request that it did not answer, so that a hold may exist until the library or
     * the lease ends it.
     */
    public boolean holdMayExist() {
        return mayExist;
    }
}
