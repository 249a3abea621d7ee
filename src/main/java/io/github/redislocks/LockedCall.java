package io.github.redislocks;

import org.jspecify.annotations.Nullable;

/**
 * An action that runs while its thread holds a lock, returns a value and may throw: {@link LeasedLock#callWithLock}.
 *
 * <pre>{@code
 * LockedCall<Integer, IOException> read = () -> Integer.parseInt(Files.readString(counter));
 * int count = lock.callWithLock(read);
 * }</pre>
 *
 * @param <T> the type of the value
 * @param <E> the exception that the action may throw; {@link RuntimeException} if it declares none
 * @since 0.1.0
 */
@FunctionalInterface
public interface LockedCall<T extends @Nullable Object, E extends Exception> {

    /**
     * Does the work.
     *
     * @throws E if the work cannot be done
     */
    T call() throws E;
}
