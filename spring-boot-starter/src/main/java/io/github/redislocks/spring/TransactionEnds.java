package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import io.github.redislocks.RedisReentrantLock;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.SingletonBeanRegistry;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Checks locks before transactions are committed, and unlocks locks after transactions have ended. This class needs the
 * types of Spring's transactions.
 */
final class TransactionEnds {

    private TransactionEnds() {}

    /**
     * Makes the end of the open transaction unlock a lock, which the calling thread has just taken. If the registration
     * fails, unlocks the lock at once.
     */
    static void unlockAfterCompletion(FencedLock lock) {
        boolean registered = false;
        try {
            TransactionSynchronizationManager.registerSynchronization(new Unlocking(lock));
            registered = true;
        } finally {
            if (!registered) {
                lock.unlock();
            }
        }
    }

    /** Does what {@link OpenTransactions#askBeforeCommits} says. */
    static void askBeforeCommits(Object bean) {
        if (bean instanceof ConfigurableTransactionManager manager
                && manager.getTransactionExecutionListeners().stream().noneMatch(Asking.class::isInstance)) {
            manager.addListener(new Asking());
        }
    }

    /** Does what {@link OpenTransactions#askBeforeCommitsOf} says. */
    static void askBeforeCommitsOf(ListableBeanFactory beans) {
        for (String name : beans.getBeanNamesForType(ConfigurableTransactionManager.class, false, false)) {
            Object made = beans instanceof SingletonBeanRegistry all ? all.getSingleton(name) : null;
            if (made != null) {
                askBeforeCommits(made);
            }
        }
    }

    /**
     * Checks the enclosing locks. Spring calls this listener directly before the commit, after all synchronizations.
     */
    private static final class Asking implements TransactionExecutionListener {

        @Override
        public void beforeCommit(TransactionExecution transaction) {
            EnclosingLocks.ensureHeld();
        }
    }

    /**
     * Checks the lock before the commit, and unlocks it after all other synchronizations at the transaction's end. The
     * end of a JTA transaction may be reported on another thread, for instance on a thread that rolls back transactions
     * after a timeout.
     */
    private static final class Unlocking implements TransactionSynchronization {
        // Not a record: of two equal objects, Spring would register only one.

        private final FencedLock lock;
        private final Thread holder = Thread.currentThread();

        Unlocking(FencedLock lock) {
            this.lock = lock;
        }

        @Override
        public void beforeCommit(boolean readOnly) {
            lock.ensureHeld();
        }

        @Override
        public void afterCompletion(int status) {
            if (Thread.currentThread() == holder) {
                lock.unlock();
            } else if (!(lock instanceof RedisReentrantLock ours) || ours.getOwner() == holder) {
                // Force the lock open: otherwise the hold would be renewed until its thread ends, since only that
                // thread could unlock it.
                boolean unused = lock.forceUnlock();
            }
        }
    }
}
