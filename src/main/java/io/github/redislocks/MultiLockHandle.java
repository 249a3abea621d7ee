package io.github.redislocks;

import java.util.List;

/**
 * A hold of several locks that belongs to no thread. {@link MultiLock#acquire()} returns one. {@link Handle} says how
 * to use it.
 *
 * <pre>{@code
 * try (MultiLockHandle held = locks.multiLock(List.of("stock:" + sku, "order:" + id)).acquire()) {
 *     held.lost().thenAccept(loss -> job.stop());
 *     job.run(held.fencingToken("stock:" + sku), held.fencingToken("order:" + id));
 * }
 * }</pre>
 *
 * <p>The handle has all locks or none, as {@link MultiLock} says. The loss of one lock is the loss of all:
 * {@link #isHeld()} turns false, and {@link #ensureHeld()} throws an exception that names the lost lock. The other
 * locks stay taken until the handle is released, since the work under them may still run.
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface MultiLockHandle extends Handle {

    /** The names of the locks, each once, in the order in which the locks were acquired. */
    List<String> names();

    /**
     * The fencing token of the hold of one of the locks. It is greater than the tokens of all earlier holds of that
     * lock.
     *
     * @param name one of {@link #names()}
     * @throws IllegalArgumentException if the name is none of them
     * @throws LockLostException if one of the locks was lost
     * @throws IllegalMonitorStateException if the handle was released
     */
    long fencingToken(String name);
}
