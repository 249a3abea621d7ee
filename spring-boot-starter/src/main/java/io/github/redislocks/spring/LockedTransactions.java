package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LeasedLock;
import io.github.redislocks.Locks;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.support.TransactionOperations;

/**
 * Runs transactions under locks, without annotations. Each transaction is committed before its lock is released.
 *
 * <pre>{@code
 * LockedTransactions transactions = new LockedTransactions(locks, new TransactionTemplate(manager));
 *
 * transactions.runWithLock("account:" + id, lock -> accounts.deposit(id, amount, lock.fencingToken()));
 *
 * RedisReadLock prices = locks.readWriteLock("prices").readLock();
 * Offer offer = transactions.callWithLock(prices, lock -> offers.make(articles));
 * }</pre>
 *
 * <p>The steps are: take the lock, begin a transaction, run the action, check that the lock is still held, commit,
 * release the lock. If the action throws, or the lock was lost, the transaction is rolled back. Thread-safe.
 *
 * @since 0.1.0
 */
public final class LockedTransactions {

    private final Locks locks;
    private final TransactionOperations transactions;

    /**
     * Makes the transactions.
     *
     * @param transactions usually a {@code TransactionTemplate}, whose settings apply to each transaction
     */
    public LockedTransactions(Locks locks, TransactionOperations transactions) {
        this.locks = Objects.requireNonNull(locks, "locks");
        this.transactions = Objects.requireNonNull(transactions, "transactions");
    }

    /**
     * Runs an action in a transaction under the lock with the given name, and returns the action's result.
     *
     * @param action the action; its argument is the lock, which the thread holds
     * @throws IllegalStateException if a transaction is already open and the thread does not hold the lock
     * @throws io.github.redislocks.LockLostException if the lock was lost before the commit, so that the transaction
     *     was rolled back; or if the lock was lost during the commit
     * @throws io.github.redislocks.LockUnavailableException if Redis stays away for longer than {@code retryFor}; the
     *     action did not run
     */
    public <T extends @Nullable Object> T callWithLock(String name, Function<? super FencedLock, T> action) {
        return callWithLock(locks.reentrantLock(name), action);
    }

    /**
     * Runs an action in a transaction under a lock, as the method with a name does: under a lock with options, a read
     * lock, or several locks.
     *
     * @param action the action; its argument is the given lock, which the thread holds
     * @throws IllegalStateException if a transaction is already open and the thread does not hold the lock
     * @throws io.github.redislocks.LockLostException if the lock was lost before the commit, so that the transaction
     *     was rolled back; or if the lock was lost during the commit
     * @throws io.github.redislocks.LockUnavailableException if Redis stays away for longer than {@code retryFor}; the
     *     action did not run
     */
    public <L extends LeasedLock<?>, T extends @Nullable Object> T callWithLock(L lock, Function<? super L, T> action) {
        Objects.requireNonNull(action, "action");
        if (OpenTransactions.isOpen() && !lock.isHeldByCurrentThread()) {
            throw new IllegalStateException("The " + lock + " would be taken inside a transaction that is already open,"
                    + " and released before its commit. Call this outside of the transaction"
                    + (lock instanceof FencedLock
                            ? "; or take the lock yourself, and call LockedTransactions.unlockAfterCompletion(lock)."
                            : "."));
        }
        return lock.callWithLock(() -> transactions.execute(status -> {
            T result = action.apply(lock);
            lock.ensureHeld();
            return result;
        }));
    }

    /** Runs an action in a transaction under the lock, as {@code callWithLock} does. The action returns nothing. */
    public void runWithLock(String name, Consumer<? super FencedLock> action) {
        runWithLock(locks.reentrantLock(name), action);
    }

    /** Runs an action in a transaction under a lock, as {@code callWithLock} does. The action returns nothing. */
    public <L extends LeasedLock<?>> void runWithLock(L lock, Consumer<? super L> action) {
        Objects.requireNonNull(action, "action");
        Boolean unused = callWithLock(lock, held -> {
            action.accept(held);
            return Boolean.TRUE;
        });
    }

    /**
     * Unlocks a lock when the present transaction has been committed or rolled back. Call this method instead of
     * {@code unlock()}, directly after the thread has taken the lock inside the transaction:
     *
     * <pre>{@code
     * lock.lock();
     * LockedTransactions.unlockAfterCompletion(lock);
     * }</pre>
     *
     * <p>The transaction is not committed if the lock is lost before. Data that the transaction read before the lock
     * was taken may be out of date.
     *
     * @throws IllegalStateException if no transaction is open; then the lock is unlocked at once
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     */
    public static void unlockAfterCompletion(FencedLock lock) {
        lock.ensureHeld();
        if (!OpenTransactions.isOpen()) {
            lock.unlock();
            throw new IllegalStateException("No transaction is open whose end could unlock \"" + lock.getName()
                    + "\". Unlock it yourself, in a finally block.");
        }
        TransactionEnds.unlockAfterCompletion(lock);
    }
}
