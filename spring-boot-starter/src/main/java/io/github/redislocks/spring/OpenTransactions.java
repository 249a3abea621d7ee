package io.github.redislocks.spring;

import java.lang.reflect.Method;
import org.aopalliance.aop.Advice;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/**
 * The transaction of the calling thread, if Spring's transactions are on the class path. To load this class needs none
 * of theirs: what implements or asks more is in {@link TransactionEnds} and {@link InnerTransactions}.
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

    /**
     * Whether a method would run in one. A transaction that has ended is known until all have been told; a method with
     * an annotation of transactions could join that still.
     */
    static boolean isOpenFor(Method method, Class<?> type) {
        return isOpen()
                && (TransactionSynchronizationManager.isSynchronizationActive()
                        || InnerTransactions.isAnnotated(method, type));
    }

    /** Whether an advice begins transactions. */
    static boolean begins(Advice advice) {
        return KNOWN && InnerTransactions.begins(advice);
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
