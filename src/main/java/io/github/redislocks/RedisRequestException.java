package io.github.redislocks;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/**
 * The failure of a request to Redis. The message is the server's error or the failure of the connection. This exception
 * is the cause of a {@link LockUnavailableException}, which says what the failure means for the lock.
 *
 * <pre>{@code
 * if (e.getCause() instanceof RedisRequestException request) {
 *     log.warn("No lock: {}", request.getMessage());
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
public abstract class RedisRequestException extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1L;

    /** For subclasses in the library. */
    protected RedisRequestException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
