package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import java.lang.reflect.Method;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/**
 * The transaction of the calling thread, if Spring's transactions are on the class path. To load this class needs none
 * of theirs: what implements their interfaces is in {@link TransactionEnds}.
 */
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
        return TransactionEnds.beginsItsOwn(method, type);
    }

    /**
     * How often a transaction of the calling thread was suspended since this was asked first in that one, or before.
     */
    static long countSuspensions() {
        return TransactionEnds.countSuspensions();
    }

    /**
     * Has a lock, which the calling thread has just taken, unlocked when the open transaction has ended; unlocks it at
     * once if that fails.
     */
    static void unlockAfterCompletion(FencedLock lock) {
        TransactionEnds.unlockAfterCompletion(lock);
    }

    /** If a bean is a transaction manager, has it commit nothing under a lock of a method that was lost. */
    static void askBeforeCommits(Object bean) {
        if (KNOWN) {
            TransactionEnds.askBeforeCommits(bean);
        }
    }

    /** As {@link #askBeforeCommits}, of all that have been made. */
    static void askBeforeCommitsOf(ListableBeanFactory beans) {
        if (KNOWN) {
            TransactionEnds.askBeforeCommitsOf(beans);
        }
    }
}
