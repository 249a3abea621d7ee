package io.github.redislocks;

/**
 * An action that has a lock by a handle, returns nothing and may throw: {@link LeasedLock#runWithHandle}.
 *
 * <pre>{@code
 * HandleRun<LockHandle, IOException> write = held -> store.write("report", held.fencingToken());
 * locks.reentrantLock("report").runWithHandle(write);
 * }</pre>
 *
 * @param <H> the type of the handle
 * @param <E> what the action may throw; {@link RuntimeException} if nothing is declared
 * @since 0.1.0
 */
@FunctionalInterface
public interface HandleRun<H extends Handle, E extends Exception> {

    /**
     * Does the work.
     *
     * @param held the hold of the work; the library releases it when the work has ended
     * @throws E if the work cannot be done
     */
    void run(H held) throws E;
}
