package io.github.redislocks;

import java.util.concurrent.locks.Condition;

/**
 * A reentrant {@link java.util.concurrent.locks.Lock} whose holds have a lease and a fencing token, and may be lost.
 * Get one from {@link Locks}; {@link RedisReentrantLock} says how holds end, in which order threads are served, and
 * what happens while Redis is away.
 *
 * <pre>{@code
 * FencedLock lock = locks.reentrantLock("account:" + id);
 * lock.runWithLock(() -> store.write(id, amount, lock.fencingToken()));
 * }</pre>
 *
 * <p>Later versions may add methods with default implementations.
 *
 * @since 0.1.0
 */
public interface FencedLock extends LeasedLock<LockHandle> {

    /** The name of the lock. */
    String getName();

    /**
     * Returns the Condition of this lock with the given name, which is the same Condition in all JVMs.
     *
     * @param conditionName 1 to 256 characters
     * @throws IllegalArgumentException if the name is empty or longer
     * @throws UnsupportedOperationException on a quorum
     */
    Condition newCondition(String conditionName);

    /**
     * The fencing token of the calling thread's hold. Every new hold of a lock has a greater token than all earlier
     * holds; re-entries share the token. A resource that remembers the greatest token so far, and refuses smaller
     * tokens, is safe from holders that were paused for longer than their lease.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if the calling thread held the lock and has lost it
     */
    long fencingToken();

    /**
     * The hold count of the calling thread: the number of {@code unlock()} calls that are still due. It is 0 if the
     * thread does not hold the lock or has lost it. Asks no server.
     */
    int getHoldCount();

    /**
     * Whether any thread of any JVM holds the lock. Asks Redis.
     *
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    boolean isLocked();

    /** Whether the lock serves threads of all JVMs in order of arrival: {@link LockOptions#fair}. */
    boolean isFair();

    /**
     * Ends the present hold, also the hold of another owner. This method is for an operator who knows that the holder
     * is gone. A holder that still lives learns of the loss at once if its client has a subscription: the client has
     * one after its first wait for a lock, or after a call of {@link LockHandle#lost()}. Otherwise the holder learns of
     * the loss at its next renewal. Until then the holder works as if it had the lock, so two owners may work at once.
     *
     * @return whether there was a hold
     * @throws IllegalStateException if the {@link Locks} is closed
     * @throws LockUnavailableException if Redis does not answer
     */
    boolean forceUnlock();
}
