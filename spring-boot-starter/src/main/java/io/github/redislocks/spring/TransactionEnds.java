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

/** Actions before transactions are committed and after they have ended; needs Spring's transactions. */
final class TransactionEnds {

    private TransactionEnds() {}

    /**
     * Has a lock, which the calling thread has just taken, unlocked when the open transaction has ended; unlocks it at
     * once if that fails.
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

    /** As {@link OpenTransactions#askBeforeCommits}. */
    static void askBeforeCommits(Object bean) {
        if (bean instanceof ConfigurableTransactionManager manager
                && manager.getTransactionExecutionListeners().stream().noneMatch(Asking.class::isInstance)) {
            manager.addListener(new Asking());
        }
    }

    /** As {@link OpenTransactions#askBeforeCommitsOf}. */
    static void askBeforeCommitsOf(ListableBeanFactory beans) {
        for (String name : beans.getBeanNamesForType(ConfigurableTransactionManager.class, false, false)) {
            Object made = beans instanceof SingletonBeanRegistry all ? all.getSingleton(name) : null;
            if (made != null) {
                askBeforeCommits(made);
            }
        }
    }

    /** Is called right before the commit, after all synchronizations. */
    private static final class Asking implements TransactionExecutionListener {

        @Override
        public void beforeCommit(TransactionExecution transaction) {
            EnclosingLocks.ensureHeld();
        }
    }

    /**
     * Unlocks after all others have been told of the end, and lets nothing be committed without the lock. The end of a
     * transaction of JTA may be told by another thread, as by one that rolls back what took too long.
     */
    private static final class Unlocking implements TransactionSynchronization {
        // No record: of two that are equal Spring would know one.

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
                // Else it would last as long as that thread.
                boolean unused = lock.forceUnlock();
            }
        }
    }
}
