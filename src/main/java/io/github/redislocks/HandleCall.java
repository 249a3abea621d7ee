package io.github.redislocks;

import org.jspecify.annotations.Nullable;

/**
 * An action that has a lock by a handle, returns a value and may throw: {@link Locks#callWithHandle}.
 *
 * <pre>{@code
 * HandleCall<Integer, IOException> read = held -> store.read("report", held.fencingToken());
 * int count = locks.callWithHandle("report", read);
 * }</pre>
 *
 * @param <T> what it returns
 * @param <E> what it may throw; {@link RuntimeException} if nothing is declared
 * @since 0.1.0
 */
@FunctionalInterface
public interface HandleCall<T extends @Nullable Object, E extends Exception> {

    /**
     * Does the work.
     *
     * @param held the lock that the work has; released by the library when the work has ended
     * @throws E if the work cannot be done
     */
    T call(LockHandle held) throws E;
}
