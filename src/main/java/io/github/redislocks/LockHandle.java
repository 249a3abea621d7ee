package io.github.redislocks;

/**
 * A hold of one lock that belongs to no thread. {@link FencedLock#acquire()} returns one. {@link Handle} says how to
 * use it.
 *
 * <pre>{@code
 * try (LockHandle held = locks.reentrantLock("report:" + day).acquire()) {
 *     job.run(held.fencingToken());
 * }
 * }</pre>
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface LockHandle extends Handle {

    /** The name of the lock. */
    String name();

    /**
     * The fencing token of this hold. It is greater than the tokens of all earlier holds of the lock, by threads or
     * handles.
     *
     * @throws LockLostException if the hold was lost
     * @throws IllegalMonitorStateException if the handle was released
     */
    long fencingToken();
}
