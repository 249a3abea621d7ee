package io.github.redislocks;

import java.io.Serial;

/**
 * The calling thread had the lock and lost it before this call. What it did since may have been done beside another
 * holder: check the protected state, or have the resource refuse the old {@linkplain #token() fencing token}.
 */
public final class LockLostException extends IllegalMonitorStateException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final LockLost loss;

    LockLostException(LockLost loss) {
        super("The lock \"" + loss.lockName() + "\" (token " + loss.token() + ") was lost by thread "
                + loss.ownerThreadName() + ": " + loss.reason() + ", " + explain(loss.reason()));
        this.loss = loss;
    }

    private static String explain(LockLost.Reason reason) {
        return switch (reason) {
            case EXPIRED ->
                "its lease ran out. Name no lease to have it renewed, or a longer one; a process that stands"
                        + " still for longer than the lease needs fencing tokens.";
            case TAKEN -> "Redis no longer knows this hold: it was forced, deleted, or the server lost its data.";
            case UNCONFIRMED -> "Redis did not answer in time to renew it.";
            case ABANDONED -> "the thread had ended.";
            case CLOSED -> "the RedisLocks was closed before unlock.";
        };
    }

    /** The name of the lock. */
    public String lockName() {
        return loss.lockName();
    }

    /** The fencing token of the hold that was lost. */
    public long token() {
        return loss.token();
    }

    /** Why the hold ended. */
    public LockLost.Reason reason() {
        return loss.reason();
    }
}
