package io.github.redislocks.spring;

import io.github.redislocks.Locks;
import java.lang.reflect.Method;
import java.util.function.Supplier;
import org.aopalliance.aop.Advice;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.MergedBeanDefinitionPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.scheduling.annotation.AsyncAnnotationAdvisor;
import org.springframework.validation.beanvalidation.MethodValidationInterceptor;

/**
 * Puts a {@link LockedInterceptor} around beans with {@link Locked} methods: after the advisors whose order is at most
 * the interceptor's order, but always before the advisor of transactions. This processor runs after all others, so that
 * it sees all advisors of a proxy.
 */
final class LockedPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor
        implements MergedBeanDefinitionPostProcessor, SmartInitializingSingleton {

    private static final long serialVersionUID = 1;

    private final transient Supplier<? extends Locks> locks;
    private final int advisorOrder;
    private transient @Nullable BeanFactory factory;

    /**
     * Makes the processor.
     *
     * @param order the order of its advisor among those of security, caches and others; usually the lowest precedence
     */
    LockedPostProcessor(Supplier<? extends Locks> locks, int order) {
        this.locks = locks;
        this.advisorOrder = order;
        setProxyTargetClass(true);
    }

    /** Does nothing. Spring runs this processor after all others because it has this method. */
    @Override
    public void postProcessMergedBeanDefinition(RootBeanDefinition definition, Class<?> type, String name) {}

    @Override
    public void setBeanFactory(BeanFactory beanFactory) {
        super.setBeanFactory(beanFactory);
        advisor = new LockedMethods(new LockedInterceptor(locks, (ConfigurableBeanFactory) beanFactory), advisorOrder);
        factory = beanFactory;
    }

    /**
     * Adds the interceptor to the bean. If the bean is a transaction manager, makes it check the locks before each
     * commit.
     */
    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        OpenTransactions.askBeforeCommits(bean);
        Object processed = super.postProcessAfterInitialization(bean, beanName);
        if (processed instanceof Advised proxy && advisor != null && proxy.indexOf(advisor) >= 0) {
            place(proxy, advisor);
            closeLocksLater(beanName);
        }
        return processed;
    }

    private void place(Advised proxy, Advisor ours) {
        proxy.removeAdvisor(ours);
        Advisor[] all = proxy.getAdvisors();
        int at = 0;
        boolean inTransaction = false;
        for (int i = 0; i < all.length; i++) {
            Advice advice = all[i].getAdvice();
            inTransaction |= OpenTransactions.begins(advice);
            boolean outside = orderOf(all[i]) <= advisorOrder;
            if (all[i] instanceof AsyncAnnotationAdvisor || (outside && !inTransaction)) {
                // Put the lock after @Async, because the thread that does the work must hold it.
                at = i + 1;
            } else if (outside && advice instanceof MethodValidationInterceptor) {
                // Spring always adds the advice of validation after the transaction, whatever the order of the advice.
                // Move that advice before the lock, so that arguments are validated first.
                proxy.removeAdvisor(all[i]);
                proxy.addAdvisor(at++, all[i]);
            }
        }
        proxy.addAdvisor(at, ours);
    }

    private static int orderOf(Advisor advisor) {
        return advisor instanceof Ordered ordered ? ordered.getOrder() : Ordered.LOWEST_PRECEDENCE;
    }

    /**
     * Makes Spring close the locks after the given bean is destroyed: the bean uses the locks, although they are not
     * injected into it.
     */
    private void closeLocksLater(String beanName) {
        if (factory instanceof ConfigurableListableBeanFactory beans) {
            for (String each : beans.getBeanNamesForType(Locks.class, true, false)) {
                beans.registerDependentBean(each, beanName);
            }
        }
    }

    /** Makes transaction managers check the locks if they were created before this processor. */
    @Override
    public void afterSingletonsInstantiated() {
        if (factory instanceof ListableBeanFactory beans) {
            OpenTransactions.askBeforeCommitsOf(beans);
        }
    }

    /** The advisor, which applies the interceptor to methods with a lock. */
    private static final class LockedMethods extends StaticMethodMatcherPointcutAdvisor {

        private static final long serialVersionUID = 1;

        private final transient LockedInterceptor interceptor;

        LockedMethods(LockedInterceptor interceptor, int order) {
            super(interceptor);
            this.interceptor = interceptor;
            setOrder(order);
            setClassFilter(
                    type -> AnnotationUtils.isCandidateClass(type, Locked.class) && interceptor.isNeededBy(type));
        }

        @Override
        public boolean matches(Method method, Class<?> type) {
            return interceptor.find(method, type).isPresent();
        }
    }
}
