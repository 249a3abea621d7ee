package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import java.lang.reflect.Method;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/** The transaction of the calling thread, if Spring's transactions are on the class path. */
final class OpenTransactions {

    private static final boolean KNOWN = ClassUtils.isPresent(
            "org.springframework.transaction.support.TransactionSynchronizationManager",
            OpenTransactions.class.getClassLoader());

    private OpenTransactions() {}

    /** Whether a transaction is open. */
    static boolean isOpen() {
        return KNOWN && TransactionSynchronizationManager.isActualTransactionActive();
    }

    /** Whether a method begins a transaction of its own also where one is open, and so ends it under its lock. */
    static boolean beginsItsOwn(Method method, Class<?> type) {
        Transactional ofMethod = AnnotatedElementUtils.findMergedAnnotation(method, Transactional.class);
        Transactional of =
                ofMethod == null ? AnnotatedElementUtils.findMergedAnnotation(type, Transactional.class) : ofMethod;
        return of != null && of.propagation() == Propagation.REQUIRES_NEW;
    }

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

    /** If a bean is a transaction manager, has it commit nothing under a lock of a method that was lost. */
    static void askBeforeCommits(Object bean) {
        if (KNOWN && bean instanceof ConfigurableTransactionManager manager) {
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
