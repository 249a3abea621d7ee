package io.github.redislocks;

import org.jspecify.annotations.Nullable;

/**
 * An action under a lock that returns a value and may throw: {@link FencedLock#callWithLock}.
 *
 * @param <T> the type of the value
 * @param <E> the exception that the action may throw; {@link RuntimeException} if none is declared
 * @since 0.1.0
 */
@FunctionalInterface
public interface LockedCall<T extends @Nullable Object, E extends Exception> {

    /** Runs the action. */
    T call() throws E;
}
