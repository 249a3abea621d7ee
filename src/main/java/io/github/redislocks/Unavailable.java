package io.github.redislocks;

import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import org.jspecify.annotations.Nullable;

/** Makes the exceptions that say why Redis could not do what a caller wanted, and what to do about it. */
final class Unavailable {

    private final LockOptions options;
    private final Redis redis;

    Unavailable(LockOptions options, Redis redis) {
        this.options = options;
        this.redis = redis;
    }

    /** For an acquisition that Redis did not answer, or refused. */
    LockUnavailableException notAcquired(Keys keys, long triedNanos, boolean mayExist, @Nullable RedisException cause) {
        String consequence = mayExist
                ? "A request may have been executed unanswered; what it left is removed when Redis is back, and ends with"
                        + " its lease at the latest."
                : "Nothing of it exists in Redis.";
        String text = unavailableText(keys, "was not acquired", consequence, triedNanos, cause);
        return new LockUnavailableException(keys.name(), text, mayExist, cause);
    }

    /** For an attempt that has waited while Redis was away for too long. */
    LockUnavailableException notServed(Attempt attempt, long triedNanos, @Nullable RedisException cause) {
        return attempt.fromCondition
                ? notBack(attempt.keys, triedNanos, cause)
                : notAcquired(attempt.keys, triedNanos, attempt.known, cause);
    }

    /** For a hold that was given up in a Condition and could not be had back. */
    LockUnavailableException notBack(Keys keys, long triedNanos, @Nullable RedisException cause) {
        return toDo(
                keys,
                "was not had back from a Condition",
                "It is not held any more; do not unlock it.",
                triedNanos,
                cause);
    }

    /** For an acquisition that came too soon after a failover. */
    LockUnavailableException tooSoon(Keys keys, long graceNanos, boolean mayExist) {
        String text = "The lock \"" + keys.name() + "\" was not acquired: Redis at " + redis.address()
                + " has just become the master, and failoverGrace ("
                + options.failoverGrace().toMillis()
                + " ms) lets no lock be acquired for another " + (graceNanos + 999_999) / 1_000_000
                + " ms, since somebody may hold it whom that server does not know. Try again then, or wait longer.";
        return new LockUnavailableException(keys.name(), text, mayExist, null);
    }

    /** For an acquisition whose answers took longer than its lease. */
    LockUnavailableException tooFar(Attempt attempt, boolean mayExist) {
        String text = "The lock \"" + attempt.keys.name() + "\" was not acquired: the answers of Redis at "
                + redis.address() + " took longer than the lease of " + attempt.leaseMillis
                + " ms, so that each had lapsed when it came. Take a lease of several round trips to Redis, or one that"
                + " is nearer.";
        return new LockUnavailableException(attempt.keys.name(), text, mayExist, null);
    }

    /** For an acquisition that came too soon after masters of a quorum had started. */
    LockUnavailableException notYet(Keys keys, boolean mayExist, RedisException.Unready cause) {
        String text = "The lock \"" + keys.name() + "\" was not acquired: at Redis at " + redis.address() + " "
                + cause.getMessage() + ". lock() waits for them. Try again then, or wait longer; set restartDelay to"
                + " Duration.ZERO only if a master that restarts has forgotten nothing.";
        return new LockUnavailableException(keys.name(), text, mayExist, cause);
    }

    /** For an acquisition that too few replicas confirmed, and that was given back. */
    LockUnavailableException notAcknowledged(
            Keys keys, long triedNanos, boolean mayExist, RedisException.Unacknowledged cause) {
        String text =
                unavailableText(keys, "was not acquired", "What was taken has been given back.", triedNanos, cause);
        return new LockUnavailableException(keys.name(), text, mayExist, cause);
    }

    /** For what is not an acquisition: what the lock was not, and what that means for the caller. */
    LockUnavailableException toDo(
            Keys keys, String what, String consequence, long triedNanos, @Nullable RedisException cause) {
        return new LockUnavailableException(
                keys.name(), unavailableText(keys, what, consequence, triedNanos, cause), false, cause);
    }

    private String unavailableText(
            Keys keys, String what, String consequence, long triedNanos, @Nullable RedisException cause) {
        if (cause instanceof RedisException.Unacknowledged) {
            return "The lock \"" + keys.name() + "\" " + what + ": at Redis at " + redis.address() + " only "
                    + cause.getMessage() + ", and that for " + triedNanos / 1_000_000 + " ms. " + consequence
                    + " Check the replicas and the links to them, or want fewer by replicaAcks.";
        }
        if (ServerCheck.isElsewhere(cause)) {
            return "The lock \"" + keys.name() + "\" " + what + ". " + ServerCheck.tooSmall(redis.address()) + ' '
                    + consequence;
        }
        boolean refused = cause instanceof RedisException.Refused;
        return "The lock \"" + keys.name() + "\" " + what + ": Redis at " + redis.address()
                + (refused ? " refused it" : " gave no usable answer for " + triedNanos / 1_000_000 + " ms")
                + (cause == null ? "" : " (" + cause.getMessage() + ")")
                + ". " + consequence
                + (refused
                        ? " Check the rights of the user and the state of the server."
                        : " Check the server, or wait longer with a larger retryFor or tryLock time.");
    }
}
