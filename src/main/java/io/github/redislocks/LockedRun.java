package io.github.redislocks;

/**
 * An action that runs while its thread holds a lock, returns nothing and may throw: {@link LeasedLock#runWithLock}.
 *
 * <pre>{@code
 * LockedRun<IOException> write = () -> Files.writeString(counter, "0");
 * lock.runWithLock(write);
 * }</pre>
 *
 * @param <E> the exception that the action may throw; {@link RuntimeException} if it declares none
 * @since 0.1.0
 */
@FunctionalInterface
public interface LockedRun<E extends Exception> {

    /**
     * Does the work.
     *
     * @throws E if the work cannot be done
     */
    void run() throws E;
}
