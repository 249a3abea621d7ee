package io.github.redislocks;

/**
 * An action that has a lock by a handle, returns nothing and may throw: {@link Locks#runWithHandle}.
 *
 * <pre>{@code
 * HandleRun<IOException> write = held -> store.write("report", held.fencingToken());
 * locks.runWithHandle("report", write);
 * }</pre>
 *
 * @param <E> what it may throw; {@link RuntimeException} if nothing is declared
 * @since 0.1.0
 */
@FunctionalInterface
public interface HandleRun<E extends Exception> {

    /**
     * Does the work.
     *
     * @param held the lock that the work has; released by the library when the work has ended
     * @throws E if the work cannot be done
     */
    void run(LockHandle held) throws E;
}
