package io.github.redislocks;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * Several locks as one {@link java.util.concurrent.locks.Lock}: a thread or a handle has all of the locks or none.
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
 * <p><b>Order.</b> The locks are acquired in the order of their names, whatever the order in which the caller names
 * them. So threads that want overlapping sets of locks cannot deadlock, not even across JVMs. A thread that already
 * holds a lock when it acquires several others breaks this order, and can deadlock as with any nested locks.
 *
 * <p><b>All or nothing.</b> If one lock cannot be acquired, because of a timeout, an interrupt, a failure or a close,
 * the locks that were acquired before are released. Acquired locks are renewed while the call waits for the others. If
 * an acquired lock is lost meanwhile, the others are released, and the acquisition starts again.
 *
 * <p><b>Loss.</b> The loss of one lock is the loss of all: {@link #isHeldByCurrentThread()} turns false, and
 * {@link #ensureHeld()} throws an exception that names the lost lock. The other locks stay held until
 * {@link #unlock()}, since the work under them may still run.
 *
 * <p>Each of the locks is the lock that {@link Locks#reentrantLock} returns for its name. A thread that already holds
 * some of the locks re-enters them.
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface MultiLock extends LeasedLock<MultiLockHandle> {

    /** The names of the locks, each once, in the order in which the locks are acquired. */
    List<String> names();

    /**
     * Acquires all locks, and waits for them as long as necessary. An interrupt does not end the wait; the interrupt
     * flag stays set.
     *
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    @Override
    void lock();

    /**
     * Acquires all locks as {@link #lock()} does, but an interrupt ends the wait. After an interrupt, nothing of this
     * call is left in Redis.
     *
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    @Override
    void lockInterruptibly() throws InterruptedException;

    /**
     * Acquires all locks if all are free now. Blocks only until Redis has answered: one request for all locks, or one
     * for each lock until one is busy. Each request takes one command timeout at most.
     *
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis did not answer or refused, so that it is unknown whether the locks are
     *     free
     */
    @Override
    boolean tryLock();

    /**
     * Acquires all locks if all become free within the given time, which applies to all locks together. Ends within 200
     * ms after that time, even if Redis hangs. A time of zero or less takes only free locks, as {@link #tryLock()}
     * does.
     *
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if it is unknown whether one of the locks is busy
     */
    @Override
    boolean tryLock(long time, TimeUnit unit) throws InterruptedException;

    /**
     * Unlocks each of the locks once, in reverse order. Blocks for at most one command timeout: if Redis has not
     * answered the release of a lock by then, that release continues in the background.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold all of the locks; no lock is released
     *     then
     * @throws LockLostException if the calling thread has lost one of the locks; the others are released nevertheless.
     *     If several locks were lost, the other losses are suppressed exceptions of the first
     */
    @Override
    void unlock();

    /**
     * Not supported: a thread in a Condition would have to release all locks and to acquire all of them again.
     *
     * @throws UnsupportedOperationException always; its message says what to do instead
     */
    @Override
    Condition newCondition();

    /**
     * The fencing token of the calling thread's hold of one of the locks.
     *
     * @param name one of {@link #names()}
     * @throws IllegalArgumentException if the name is none of them
     * @throws IllegalMonitorStateException if the calling thread does not hold all of the locks
     * @throws LockLostException if the calling thread held all of the locks and has lost one
     */
    long fencingToken(String name);
}
