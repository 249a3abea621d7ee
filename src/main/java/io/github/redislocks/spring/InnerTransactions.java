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
 * Whether a transaction of its own begins between the lock of a method and its work; needs Spring's transactions. Asked
 * of the proxy, since what the method calls may begin and end transactions too.
 */
final class InnerTransactions {

    private static final AnnotationTransactionAttributeSource ANNOTATIONS =
            new AnnotationTransactionAttributeSource(false);

    /** The bean of an application whose classes AspectJ has woven, so that their methods begin the transactions. */
    private static final String WOVEN = "org.springframework.transaction.config.internalTransactionAspect";

    private InnerTransactions() {}

    /** Whether an annotation says anything of transactions. */
    static boolean isAnnotated(Method method, Class<?> type) {
        return ANNOTATIONS.getTransactionAttribute(method, type) != null;
    }

    /** As {@link OpenTransactions#beginsItsOwn}. */
    static boolean beginsItsOwn(
            MethodInvocation invocation, Advice lock, Method method, Class<?> type, BeanFactory beans) {
        if (beans.containsBean(WOVEN)) {
            return isOfItsOwn(ANNOTATIONS, method, type);
        }
        return invocation instanceof ProxyMethodInvocation call && begins(call.getProxy(), lock, method, type);
    }

    /** Outer: what is around, if anything of the proxy is. */
    private static boolean begins(@Nullable Object proxy, @Nullable Advice outer, Method method, Class<?> type) {
        if (!(proxy instanceof Advised advised)) {
            return false;
        }
        boolean inside = outer == null;
        for (Advisor each : advised.getAdvisors()) {
            Advice advice = each.getAdvice();
            if (inside && advice instanceof TransactionAspectSupport transactions) {
                TransactionAttributeSource source = transactions.getTransactionAttributeSource();
                if (source != null && isOfItsOwn(source, method, type)) {
                    return true;
                }
            }
            inside |= advice == outer;
        }
        return begins(AopProxyUtils.getSingletonTarget(advised), null, method, type);
    }

    private static boolean isOfItsOwn(TransactionAttributeSource source, Method method, Class<?> type) {
        TransactionAttribute found = source.getTransactionAttribute(method, type);
        return found != null && found.getPropagationBehavior() == TransactionDefinition.PROPAGATION_REQUIRES_NEW;
    }
}
