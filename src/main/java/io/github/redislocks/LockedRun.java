package io.github.redislocks;

/**
 * An action under a lock that returns nothing and may throw: {@link LeasedLock#runWithLock}.
 *
 * <pre>{@code
 * LockedRun<IOException> write = () -> Files.writeString(counter, "0");
 * lock.runWithLock(write);
 * }</pre>
 *
 * @param <E> what it may throw; {@link RuntimeException} if nothing is declared
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
