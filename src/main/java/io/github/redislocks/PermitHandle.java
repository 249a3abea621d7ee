package io.github.redislocks;

import java.util.List;

/**
 * Some permits of a {@link Permits pool}, held by one owner that is no thread: any thread that has the handle may use
 * and release it. {@link Handle} says how to use it. All permits of a handle are released together.
 *
 * <p>Nobody else has the numbers of a handle as long as the handle is held.
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface PermitHandle extends LockHandle {

    /** The name of the permits. */
    @Override
    String name();

    /**
     * The number of the permit, from 0 to one less than the size of the pool. For several permits this is the smallest
     * number. A program can choose a port, a shard or a licence by it. Asks no server, and stays the same after the
     * release.
     */
    default int number() {
        return numbers().get(0);
    }

    /** The numbers of all permits of this handle, ascending. Asks no server. */
    List<Integer> numbers();

    /**
     * A token that is greater than the tokens of all earlier handles of the pool. A resource that belongs to one
     * number, such as a shard, can refuse a token that is smaller than an earlier token for this number. Tokens of
     * handles with different numbers say nothing about each other: such handles may be valid at the same time.
     *
     * @throws LockLostException if the permits were lost
     * @throws IllegalMonitorStateException if the handle was released
     */
    @Override
    long fencingToken();

    /**
     * Whether the previous owner of at least one of these numbers did not release it: its process crashed, or it lost
     * the permit. What these numbers stand for may then be half changed. A program that has to know which number it is
     * acquires its permits one by one. The result may be true although that owner released the number: see
     * {@link LeasedLock#previousHolderLost}.
     *
     * @throws LockLostException if the permits were lost
     * @throws IllegalMonitorStateException if the handle was released
     */
    @Override
    boolean previousHolderLost();
}
