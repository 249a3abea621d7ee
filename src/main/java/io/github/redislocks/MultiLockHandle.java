package io.github.redislocks;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * One possession of several locks that belongs to no thread: whoever has the handle may use and release it, on any
 * thread. {@link Locks#acquireAll} gets one.
 *
 * <pre>{@code
 * try (MultiLockHandle held = locks.acquireAll(List.of("stock:" + sku, "order:" + id))) {
 *     held.lost().thenAccept(loss -> job.stop());
 *     job.run(held.fencingToken("stock:" + sku), held.fencingToken("order:" + id));
 * }
 * }</pre>
 *
 * <p>It is to several names what {@link LockHandle} is to one, and has all of them or none, as {@link MultiLock} says:
 * asked for in one order, given back if one cannot be had.
 *
 * <p>The loss of one is the loss of all: {@link #isHeld()} turns false, and {@link #ensureHeld()} throws what names the
 * lost lock. The others stay taken until the handle is released, since the work under them may still run.
 *
 * <p>Close every handle. One that nobody refers to any more is lost ({@link LockLost.Reason#ABANDONED}), each name at
 * its next renewal after a garbage collection.
 *
 * <p>Later versions may have more methods, with a default.
 *
 * @since 0.1.0
 */
public interface MultiLockHandle extends AutoCloseable {

    /** The names, each once, in the order in which the locks were asked for. */
    List<String> names();

    /** By which Redis and {@link Locks#inspect} know this possession of each name: {@code host:pid:random:h7}. */
    String owner();

    /**
     * The fencing token of one of the locks: greater than those of all possessions of it before.
     *
     * @param name one of {@link #names()}
     * @throws IllegalArgumentException if it is none of them
     * @throws LockLostException if one of the locks was lost
     * @throws IllegalMonitorStateException if they were released
     */
    long fencingToken(String name);

    /** Whether all can be relied upon now. Local. */
    boolean isHeld();

    /**
     * Returns if all can be relied upon now, and throws otherwise. Local, and cheap enough for every step of a long
     * job.
     *
     * @throws LockLostException if one was lost, which it names
     * @throws IllegalMonitorStateException if they were released
     */
    void ensureHeld();

    /** How long all can be relied upon if none is renewed any more: the least; zero if one cannot. Local. */
    Duration remainingLease();

    /**
     * Whether the holder before this one of any of the locks never released it: it crashed, lost it, or was forced.
     *
     * @throws LockLostException if one was lost
     * @throws IllegalMonitorStateException if they were released
     */
    boolean previousHolderLost();

    /**
     * The news that one of the locks was lost, the first of them, with the reason: completes once, and never if they
     * are released. It comes as {@link LockHandle#lost()} does, and what is said there of what depends on it holds here
     * too: it must not refer to the handle, and should not block.
     */
    CompletionStage<LockLost> lost();

    /**
     * Releases all, in the opposite order. Blocks for at most one command timeout: what Redis does not answer by then
     * is released in the background. Does nothing if it has been closed or released before.
     *
     * @throws LockLostException if one was lost before; told once, when all are released. Of several losses the others
     *     are added to the first as suppressed
     */
    @Override
    void close();

    /**
     * As {@link #close()}, and never throws for a loss.
     *
     * @return whether this call released all in good order; false if one had been lost, or they were released before
     */
    boolean release();

    /**
     * As {@link #release()}, without waiting. The stage completes on a thread of the library, as that of
     * {@link #lost()}, with what {@code release()} returns.
     */
    CompletionStage<Boolean> releaseAsync();
}
