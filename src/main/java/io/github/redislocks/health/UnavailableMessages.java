package io.github.redislocks.health;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.LockUnavailableException.Reason;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Remedy;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import org.jspecify.annotations.Nullable;

/** Creates the exceptions for calls that Redis did not execute. Their messages say why, and what to do about it. */
public final class UnavailableMessages {

    private final Settings settings;
    private final Redis redis;

    public UnavailableMessages(Settings settings, Redis redis) {
        this.settings = settings;
        this.redis = redis;
    }

    /** An operation on a lock, with the text for its failure and for the consequence. */
    public enum Operation {
        REENTRY("was not entered once more", "The calling thread still holds it, as often as before."),
        AWAIT(
                "was released by await() and not acquired again",
                "The thread does not hold it any more; do not unlock it."),
        SIGNAL("was not signalled", "The calling thread still holds it; the signal may have been given."),
        RESIZING("was not given another size", "The size may have changed: ask size() when Redis is back."),
        INSPECTION("could not be looked at", "Nothing has changed."),
        FORCE("was not forced open", "It may have been: ask isLocked() when Redis is back.");

        private final String what;
        private final String consequence;

        Operation(String what, String consequence) {
            this.what = what;
            this.consequence = consequence;
        }
    }

    private LockUnavailableException.Builder unavailable(Reason reason, LockKeys keys, String what) {
        String text = "The " + keys.shown() + " " + what;
        return LockUnavailableException.builder(reason, redis.address(), text).lockName(keys.name());
    }

    /**
     * The reason of a failure.
     *
     * @param cause the failure of the request; null if there was no reply in time
     */
    public static Reason reasonOf(@Nullable RedisException cause) {
        if (cause instanceof RedisException.Refused) {
            return Reason.REFUSED;
        }
        if (cause instanceof RedisException.Unready) {
            return Reason.RESTART_DELAY;
        }
        return cause instanceof RedisException.Unacknowledged ? Reason.TOO_FEW_REPLICAS : Reason.UNANSWERED;
    }

    /** For an acquisition that Redis did not answer, or refused. */
    public LockUnavailableException notAcquired(
            LockKeys keys, long triedNanos, boolean mayExist, @Nullable RedisException cause) {
        String consequence = mayExist
                ? "An unanswered request may have been executed; its effect is undone when Redis is back, and ends with"
                        + " the lease at the latest."
                : "Redis has nothing of this attempt.";
        String what = "was not acquired" + why(keys, consequence, triedNanos, cause);
        return unavailable(reasonOf(cause), keys, what)
                .holdMayExist(mayExist)
                .cause(cause)
                .build();
    }

    /** For an acquisition that waited until an outage had lasted too long. */
    public LockUnavailableException notServed(Attempt attempt, long triedNanos, @Nullable RedisException cause) {
        return attempt.isFromCondition()
                ? notBack(attempt.keys, triedNanos, cause)
                : notAcquired(attempt.keys, triedNanos, attempt.mayExistInRedis(), cause);
    }

    /** For an {@code await()} that could not release the lock, or not acquire it again. */
    public LockUnavailableException notBack(LockKeys keys, long triedNanos, @Nullable RedisException cause) {
        return notDone(Operation.AWAIT, keys, triedNanos, cause);
    }

    /** For an acquisition too soon after a failover. */
    public LockUnavailableException tooSoon(LockKeys keys, long graceNanos, boolean mayExist) {
        String what = "was not acquired: Redis at " + redis.address()
                + " has just become the master, and failoverGrace (" + settings.failoverGraceNanos() / 1_000_000
                + " ms) lets no lock be acquired for another " + (graceNanos + 999_999) / 1_000_000
                + " ms, since a client may hold it of which that server does not know. Try again then, or wait longer.";
        return unavailable(Reason.FAILOVER_GRACE, keys, what)
                .holdMayExist(mayExist)
                .build();
    }

    /** For an acquisition whose replies took longer than its lease. */
    public LockUnavailableException tooFar(Attempt attempt, boolean mayExist) {
        String what = "was not acquired: the answers of Redis at " + redis.address() + " took longer than the lease of "
                + attempt.leaseMillis
                + " ms, so that each lease had expired when the answer came. Use a lease of several round trips, or a Redis"
                + " that is nearer.";
        return unavailable(Reason.LEASE_TOO_SHORT, attempt.keys, what)
                .holdMayExist(mayExist)
                .build();
    }

    /** For an acquisition too soon after the start of some masters of a quorum. */
    public LockUnavailableException notYet(LockKeys keys, boolean mayExist, RedisException.Unready cause) {
        String what = "was not acquired: at Redis at " + redis.address() + " " + cause.getMessage()
                + ". lock() waits for them. Try again then, or wait longer; set restartDelay to"
                + " Duration.ZERO only if a master that restarts has forgotten nothing.";
        return unavailable(Reason.RESTART_DELAY, keys, what)
                .holdMayExist(mayExist)
                .cause(cause)
                .build();
    }

    /** For an acquisition that too few replicas confirmed, so that the lock was released again. */
    public LockUnavailableException notAcknowledged(
            LockKeys keys, long triedNanos, boolean mayExist, RedisException.Unacknowledged cause) {
        String what = "was not acquired" + why(keys, "What Redis had granted has been released.", triedNanos, cause);
        return unavailable(Reason.TOO_FEW_REPLICAS, keys, what)
                .holdMayExist(mayExist)
                .cause(cause)
                .build();
    }

    /** For an operation that does not acquire the lock. */
    public LockUnavailableException notDone(
            Operation operation, LockKeys keys, long triedNanos, @Nullable RedisException cause) {
        String what = operation.what + why(keys, operation.consequence, triedNanos, cause);
        return unavailable(reasonOf(cause), keys, what).cause(cause).build();
    }

    /** For a count of tokens, which concerns no single lock. */
    public LockUnavailableException notCounted(String server, long triedNanos, RedisException cause) {
        return notScanned("The last tokens were not counted", server, triedNanos, cause);
    }

    /** For a listing of the locks in use, which concerns no single lock. */
    public LockUnavailableException notListed(String server, long triedNanos, RedisException cause) {
        return notScanned("The locks were not listed", server, triedNanos, cause);
    }

    private LockUnavailableException notScanned(String what, String server, long triedNanos, RedisException cause) {
        boolean refused = cause instanceof RedisException.Refused;
        String text = what + ": Redis at " + server + refusedOrSilent(triedNanos, cause) + " (" + cause.getMessage()
                + "). Nothing has changed. "
                + (refused ? "For this the user needs +scan besides its other rights. " : "")
                + Remedy.of(cause);
        return LockUnavailableException.builder(reasonOf(cause), server, text)
                .cause(cause)
                .build();
    }

    /**
     * Whether the refusal says that a key has another type than the scripts expect, or a value that is not a number.
     */
    private static boolean isOfForeignKey(RedisException.Refused refusal) {
        return refusal.says("WRONGTYPE") || String.valueOf(refusal.getMessage()).contains("attempt to ");
    }

    private String why(LockKeys keys, String consequence, long triedNanos, @Nullable RedisException cause) {
        if (cause instanceof RedisException.Unacknowledged) {
            return ": at Redis at " + redis.address() + " only " + cause.getMessage() + ", and that for "
                    + triedNanos / 1_000_000 + " ms. " + consequence
                    + " Check the replicas and the links to them, or set a smaller replicaAcks.";
        }
        if (ServerRequirements.isElsewhere(cause)) {
            return ". " + ServerRequirements.tooSmall(redis.address()) + ' ' + consequence;
        }
        if (cause instanceof RedisException.Refused refusal && isOfForeignKey(refusal)) {
            return ": Redis at " + redis.address() + " has something else under the key " + Shown.of(keys.lock())
                    + " or one that begins with it and a colon (" + cause.getMessage() + "). " + consequence
                    + " Look at these keys with TYPE, and at their values; delete what is wrong there, or choose another keyPrefix.";
        }
        return ": Redis at " + redis.address() + refusedOrSilent(triedNanos, cause)
                + (cause == null ? "" : " (" + cause.getMessage() + ")")
                + ". " + consequence
                + (cause == null
                        ? " Check the server, or wait longer with a larger retryFor or tryLock time."
                        : " " + Remedy.of(cause));
    }

    private static String refusedOrSilent(long triedNanos, @Nullable RedisException cause) {
        return cause instanceof RedisException.Refused
                ? " refused it"
                : " gave no usable answer for " + triedNanos / 1_000_000 + " ms";
    }
}
