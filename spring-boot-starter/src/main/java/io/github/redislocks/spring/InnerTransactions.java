package io.github.redislocks.spring;

import java.lang.reflect.Method;
import org.aopalliance.aop.Advice;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.Advisor;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.interceptor.TransactionAttributeSource;

/**
 * Finds out whether a locked method begins its own transaction after its lock was taken. Looks at the proxy that takes
 * the lock, in which the lock comes before all transactions. Transactions of other methods that the locked method calls
 * do not matter. This class needs the classes of Spring's transactions.
 */
final class InnerTransactions {

    private static final AnnotationTransactionAttributeSource ANNOTATIONS =
            new AnnotationTransactionAttributeSource(false);

    /** The bean that exists if AspectJ has woven transactions into the application's methods. */
    private static final String WOVEN = "org.springframework.transaction.config.internalTransactionAspect";

    private InnerTransactions() {}

    /** Whether the method or its class has an annotation for transactions. */
    static boolean isAnnotated(Method method, Class<?> type) {
        return ANNOTATIONS.getTransactionAttribute(method, type) != null;
    }

    /** Whether an advice begins transactions. */
    static boolean begins(Advice advice) {
        return advice instanceof TransactionAspectSupport;
    }

    /**
     * Whether a method begins its own transaction even inside another one (REQUIRES_NEW). Then its transaction ends
     * before its lock is released.
     */
    static boolean beginsItsOwn(MethodInvocation invocation, Method method, Class<?> type, BeanFactory beans) {
        if (beans.containsBean(WOVEN)) {
            return isOfItsOwn(ANNOTATIONS, method, type);
        }
        return invocation instanceof ProxyMethodInvocation call && begins(call.getProxy(), method, type);
    }

    private static boolean begins(@Nullable Object proxy, Method method, Class<?> type) {
        if (!(proxy instanceof Advised advised)) {
            return false;
        }
        for (Advisor each : advised.getAdvisors()) {
            if (each.getAdvice() instanceof TransactionAspectSupport transactions) {
                TransactionAttributeSource source = transactions.getTransactionAttributeSource();
                if (source != null && isOfItsOwn(source, method, type)) {
                    return true;
                }
            }
        }
        return begins(AopProxyUtils.getSingletonTarget(advised), method, type);
    }

    private static boolean isOfItsOwn(TransactionAttributeSource source, Method method, Class<?> type) {
        TransactionAttribute found = source.getTransactionAttribute(method, type);
        return found != null && found.getPropagationBehavior() == TransactionDefinition.PROPAGATION_REQUIRES_NEW;
    }
}
