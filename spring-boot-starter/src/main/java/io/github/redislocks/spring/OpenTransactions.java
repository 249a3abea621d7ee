package io.github.redislocks.spring;

import java.lang.reflect.Method;
import org.aopalliance.aop.Advice;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/**
 * The transaction of the calling thread, if Spring's transactions are on the class path. This class can be loaded
 * without their types, which only {@link TransactionEnds} and {@link InnerTransactions} need.
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
     * Whether a method would run in an open transaction. While the listeners of a transaction's end are running, only a
     * method with an annotation for transactions could still join that transaction.
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

    /**
     * If the bean is a transaction manager, makes it check the enclosing locks before each commit, so that nothing is
     * committed under a lost lock.
     */
    static void askBeforeCommits(Object bean) {
        if (KNOWN) {
            TransactionEnds.askBeforeCommits(bean);
        }
    }

    /** Calls {@link #askBeforeCommits} for all transaction managers that exist. */
    static void askBeforeCommitsOf(ListableBeanFactory beans) {
        if (KNOWN) {
            TransactionEnds.askBeforeCommitsOf(beans);
        }
    }
}
