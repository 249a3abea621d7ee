package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** What is done before transactions are committed and when they have ended; needs Spring's transactions. */
final class TransactionEnds {

    private TransactionEnds() {}

    /** As {@link OpenTransactions#unlockAfterCompletion}. */
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
        if (bean instanceof ConfigurableTransactionManager manager) {
            manager.addListener(new Asking());
        }
    }

    /** Is called right before the commit, after all synchronizations. */
    private static final class Asking implements TransactionExecutionListener {

        @Override
        public void beforeCommit(TransactionExecution transaction) {
            EnclosingLocks.ensureHeld();
        }
    }

    /** Unlocks after all others have been told of the end, and lets nothing be committed without the lock. */
    private record Unlocking(FencedLock lock) implements TransactionSynchronization {

        @Override
        public void beforeCommit(boolean readOnly) {
            lock.ensureHeld();
        }

        @Override
        public void afterCompletion(int status) {
            lock.unlock();
        }
    }
}
