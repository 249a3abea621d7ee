package io.github.redislocks;

import org.jspecify.annotations.Nullable;

/**
 * Work under a lock that returns something, and may throw: {@link FencedLock#callWithLock}.
 *
 * @param <T> what it returns
 * @param <E> what it may throw; {@link RuntimeException} if nothing is declared
 * @since 0.1.0
 */
@FunctionalInterface
public interface LockedCall<T extends @Nullable Object, E extends Exception> {

    /** Does the work. */
    T call() throws E;
}
