package io.github.redislocks;

import org.jspecify.annotations.Nullable;

/**
 * An action that runs while a handle holds a lock, returns a value and may throw: {@link LeasedLock#callWithHandle}.
 *
 * <pre>{@code
 * HandleCall<LockHandle, Integer, IOException> read = held -> store.read("report", held.fencingToken());
 * int count = locks.reentrantLock("report").callWithHandle(read);
 * }</pre>
 *
 * @param <H> the type of the handle
 * @param <T> the type of the value
 * @param <E> the exception that the action may throw; {@link RuntimeException} if it declares none
 * @since 0.1.0
 */
@FunctionalInterface
public interface HandleCall<H extends Handle, T extends @Nullable Object, E extends Exception> {

    /**
     * Does the work.
     *
     * @param held the handle; the library releases it when the work has ended
     * @throws E if the work cannot be done
     */
    T call(H held) throws E;
}
