package io.github.redislocks;

/**
 * An action that runs while a handle holds a lock, returns nothing and may throw: {@link LeasedLock#runWithHandle}.
 *
 * <pre>{@code
 * HandleRun<LockHandle, IOException> write = held -> store.write("report", held.fencingToken());
 * locks.reentrantLock("report").runWithHandle(write);
 * }</pre>
 *
 * @param <H> the type of the handle
 * @param <E> the exception that the action may throw; {@link RuntimeException} if it declares none
 * @since 0.1.0
 */
@FunctionalInterface
public interface HandleRun<H extends Handle, E extends Exception> {

    /**
     * Does the work.
     *
     * @param held the handle; the library releases it when the work has ended
     * @throws E if the work cannot be done
     */
    void run(H held) throws E;
}
