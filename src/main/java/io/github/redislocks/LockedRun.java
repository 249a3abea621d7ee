package io.github.redislocks;

/**
 * Work under a lock that returns nothing, and may throw: {@link FencedLock#runWithLock}.
 *
 * @param <E> what it may throw; {@link RuntimeException} if nothing is declared
 * @since 0.1.0
 */
@FunctionalInterface
public interface LockedRun<E extends Exception> {

    /** Does the work. */
    void run() throws E;
}
