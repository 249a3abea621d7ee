package io.github.redislocks;

import java.io.Serial;

/**
 * The calling thread held the lock and lost it before this call. What it did since may have been done beside another
 * holder: check the protected state, or have the resource refuse the old {@linkplain #token() fencing token}.
 *
 * <pre>{@code
 * try {
 *     lock.unlock();
 * } catch (LockLostException e) {
 *     recheck(account, e.token());
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LockLostException extends IllegalMonitorStateException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final LockLost loss;

    /** Of a loss. The library makes it, and so does what takes the library's place in a test. */
    public LockLostException(LockLost loss) {
        super("The lock \"" + loss.lockName() + "\" (token " + loss.token() + ") was lost by " + loss.owner() + ": "
                + loss.reason() + ", " + loss.reason().explanation);
        this.loss = loss;
    }

    /** The loss. */
    public LockLost loss() {
        return loss;
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
