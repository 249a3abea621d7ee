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
                + loss.ownerThreadName() + ": " + loss.reason() + ", " + loss.reason().explanation);
        this.loss = loss;
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
