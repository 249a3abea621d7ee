package io.github.redislocks;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * Several locks as one {@link java.util.concurrent.locks.Lock}: a thread or a handle has all of them or none.
 * {@link Locks#multiLock} makes it.
 *
 * <pre>{@code
 * MultiLock both = locks.multiLock(List.of("account:" + from, "account:" + to));
 * both.lock();
 * try {
 *     transfer(from, to, both.fencingToken("account:" + from), both.fencingToken("account:" + to));
 * } finally {
 *     both.unlock();
 * }
 * }</pre>
 *
 * <p><b>Order.</b> The locks are asked for one after the other, sorted by their names, in whatever order and how often
 * the caller names them. So threads that want overlapping sets never wait for each other in a circle, here and in other
 * JVMs. A thread that has a lock already when it asks for several is outside that order, as with any nested locks.
 *
 * <p><b>All or nothing.</b> If one lock cannot be acquired, the others are released: after a timeout, an interrupt, a
 * failure, a close. Locks that are acquired are renewed while the call waits for the others. If one of them is lost
 * meanwhile, the others are released and all are asked for anew.
 *
 * <p><b>Loss.</b> The loss of one is the loss of all: {@link #isHeldByCurrentThread()} turns false, and
 * {@link #ensureHeld()} throws what names the lost lock. The others stay taken until {@link #unlock()}, since the work
 * under them may still run.
 *
 * <p>Each is the lock of {@link Locks#reentrantLock} of its name, and re-entrant as that: a thread that has some of
 * them has these once more.
 *
 * <p>Later versions may have more methods, with a default.
 *
 * @since 0.1.0
 */
public interface MultiLock extends LeasedLock<MultiLockHandle> {

    /** The names, each once, in the order in which the locks are asked for. */
    List<String> names();

    /**
     * Acquires all, waiting as long as it takes; an interrupt does not end the wait and is kept.
     *
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    @Override
    void lock();

    /**
     * As {@link #lock()}, but an interrupt ends the wait and leaves nothing behind.
     *
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    @Override
    void lockInterruptibly() throws InterruptedException;

    /**
     * Acquires all if all are free now. Does not wait: asks for all, or for each once until one is busy; each answer is
     * waited for one command timeout at most.
     *
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if Redis did not answer, so that nobody knows whether they are free
     */
    @Override
    boolean tryLock();

    /**
     * Acquires all if all become free within the given time, which is one for all. Ends within 200 ms after that time
     * even if Redis hangs. A time of zero or less takes free locks only, as {@link #tryLock()} does.
     *
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link Locks} that it came from is closed
     * @throws LockUnavailableException if nobody knows whether one of them is busy
     */
    @Override
    boolean tryLock(long time, TimeUnit unit) throws InterruptedException;

    /**
     * Releases each once, in the opposite order. Blocks for at most one command timeout: what Redis does not answer by
     * then is released in the background.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold all of them; then none is released
     * @throws LockLostException if it lost one of them; all are released nevertheless. Of several losses the others are
     *     added to the first as suppressed
     */
    @Override
    void unlock();

    /**
     * Not supported: a thread that waits would have to give up all locks and to get all back.
     *
     * @throws UnsupportedOperationException always; it says what to do instead
     */
    @Override
    Condition newCondition();

    /**
     * The fencing token of the calling thread's hold of one of the locks.
     *
     * @param name one of {@link #names()}
     * @throws IllegalArgumentException if it is none of them
     * @throws IllegalMonitorStateException if the calling thread does not hold all of them
     * @throws LockLostException if it did and has lost one
     */
    long fencingToken(String name);
}
