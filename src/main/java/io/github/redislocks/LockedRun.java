package io.github.redislocks;

/**
 * An action under a lock that returns nothing and may throw: {@link FencedLock#runWithLock}.
 *
 * @param <E> the exception that the action may throw; {@link RuntimeException} if none is declared
 * @since 0.1.0
 */
@FunctionalInterface
public interface LockedRun<E extends Exception> {

    /** Runs the action. */
    void run() throws E;
}
