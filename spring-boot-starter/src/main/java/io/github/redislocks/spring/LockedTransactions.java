package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import io.github.redislocks.Locks;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.support.TransactionOperations;

/**
 * Transactions under locks, each committed before its lock is released; without annotations.
 *
 * <pre>{@code
 * LockedTransactions transactions = new LockedTransactions(locks, new TransactionTemplate(manager));
 *
 * transactions.runWithLock("account:" + id, lock -> accounts.deposit(id, amount, lock.fencingToken()));
 * }</pre>
 *
 * <p>The lock is taken, a transaction begins, the action runs, the lock is asked whether it is held still, the
 * transaction is committed, and the lock is released. If the action throws, or the lock was lost, it is rolled back.
 * Thread-safe.
 *
 * @since 0.1.0
 */
public final class LockedTransactions {

    private final Locks locks;
    private final TransactionOperations transactions;

    /** Makes one of locks, and of a {@code TransactionTemplate} with the isolation that is wanted. */
    public LockedTransactions(Locks locks, TransactionOperations transactions) {
        this.locks = Objects.requireNonNull(locks, "locks");
        this.transactions = Objects.requireNonNull(transactions, "transactions");
    }

    /**
     * Runs an action in a transaction under the lock of a name, and returns what it returned.
     *
     * @param action is given the lock, which its thread holds
     * @throws IllegalStateException if a transaction is open already and the thread does not hold the lock
     * @throws io.github.redislocks.LockLostException if the lock was lost before the commit, which did not happen then,
     *     or while the transaction was committed
     * @throws io.github.redislocks.LockUnavailableException if Redis stays away for longer than {@code retryFor}; the
     *     action did not run
     */
    public <T extends @Nullable Object> T callWithLock(String name, Function<? super FencedLock, T> action) {
        Objects.requireNonNull(action, "action");
        FencedLock lock = locks.reentrantLock(name);
        if (OpenTransactions.isOpen() && !lock.isHeldByCurrentThread()) {
            throw new IllegalStateException("The lock \"" + name + "\" is wanted inside a transaction that is open"
                    + " already, and would be released before that is committed. Call this outside of the transaction;"
                    + " or take the lock yourself, and call LockedTransactions.unlockAfterCompletion(lock).");
        }
        return lock.callWithLock(() -> transactions.execute(status -> {
            T result = action.apply(lock);
            lock.ensureHeld();
            return result;
        }));
    }

    /** As {@link #callWithLock}, for an action that returns nothing. */
    public void runWithLock(String name, Consumer<? super FencedLock> action) {
        Objects.requireNonNull(action, "action");
        Boolean unused = callWithLock(name, lock -> {
            action.accept(lock);
            return Boolean.TRUE;
        });
    }

    /**
     * Has a lock, which the calling thread has just taken inside a transaction, unlocked when that has been committed
     * or rolled back. In the place of {@code unlock()}, and right behind {@code lock()}:
     *
     * <pre>{@code
     * lock.lock();
     * LockedTransactions.unlockAfterCompletion(lock);
     * }</pre>
     *
     * <p>The transaction is not committed if the lock is lost before. What it had read before the lock was taken may be
     * old.
     *
     * @throws IllegalStateException if no transaction is open; the lock has been unlocked then
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
