package io.github.redislocks;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/**
 * Redis gave no answer, or refused, so that nobody knows whether the lock is free. The caller does not hold it. The
 * message tells which server, for how long it was tried, and whether a hold may exist in Redis; if so, the library ends
 * it as soon as Redis is back, and its lease ends it at the latest.
 */
public final class LockUnavailableException extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String lockName;
    private final boolean mayExist;

    LockUnavailableException(String lockName, String message, boolean mayExist, @Nullable Throwable cause) {
        super(message, cause);
        this.lockName = lockName;
        this.mayExist = mayExist;
    }

    /** The name of the lock, or the server's address if no lock was asked for yet. */
    public String lockName() {
        return lockName;
    }

    /** Whether a request may have been executed unanswered, so that a hold may exist until it is cleaned up. */
    public boolean holdMayExist() {
        return mayExist;
    }
}
