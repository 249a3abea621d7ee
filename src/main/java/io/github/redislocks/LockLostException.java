package io.github.redislocks;

import io.github.redislocks.concurrent.Shown;
import java.io.Serial;

/**
 * Thrown if the caller, a thread or a handle, held the lock and lost it before this call. Another owner may have held
 * the lock since the loss, while the caller was still working: check the protected state, or make the resource refuse
 * the old {@linkplain #token() fencing token}.
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

    /** Makes the exception for a loss. For the library, and for tests that replace it. */
    public LockLostException(LockLost loss) {
        super("The lock \"" + Shown.of(loss.lockName()) + "\" (token " + loss.token() + ") was lost by " + loss.owner()
                + ": " + loss.reason() + ", " + loss.reason().explanation);
        this.loss = loss;
    }

    /** Which hold was lost, and why: the name of the lock, the token, the owner and the reason. */
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
