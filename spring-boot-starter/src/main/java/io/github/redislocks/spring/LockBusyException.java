package io.github.redislocks.spring;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/**
 * Thrown by a {@link Locked} method that did not run: its lock was busy for the whole {@link Locked#waitFor}, or the
 * thread was interrupted while it waited. After an interrupt, the interrupt flag stays set.
 *
 * @since 0.1.0
 */
public class LockBusyException extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1;

    private final String lockName;

    LockBusyException(String lockName, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.lockName = lockName;
    }

    /** The name of the lock. */
    public String lockName() {
        return lockName;
    }
}
