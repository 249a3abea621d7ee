package io.github.redislocks.spring;

import io.github.redislocks.Locks;
import java.lang.reflect.Method;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.Advisor;
import org.springframework.aop.ClassFilter;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.scheduling.annotation.AsyncAnnotationAdvisor;

/**
 * Puts {@link LockedInterceptor} around beans with {@link Locked} methods, and before all advisors that they have got
 * so far, that of transactions among them, whatever their order. Only {@code @Async}, whose processor comes later, is
 * outside of it: the lock belongs to the thread that does the work.
 */
final class LockedPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor
        implements SmartInitializingSingleton {

    private static final long serialVersionUID = 1;

    private final transient Supplier<? extends Locks> locks;
    private transient @Nullable BeanFactory factory;
    private transient @Nullable LockedInterceptor interceptor;

    LockedPostProcessor(Supplier<? extends Locks> locks) {
        this.locks = locks;
        setBeforeExistingAdvisors(true);
        setProxyTargetClass(true);
        setOrder(Ordered.LOWEST_PRECEDENCE - 1);
    }

    @Override
    public void setBeanFactory(BeanFactory beanFactory) {
        super.setBeanFactory(beanFactory);
        LockedInterceptor around = new LockedInterceptor(locks, (ConfigurableBeanFactory) beanFactory);
        DefaultPointcutAdvisor made = new DefaultPointcutAdvisor(new LockedMethods(around), around);
        made.setOrder(Ordered.HIGHEST_PRECEDENCE);
        advisor = made;
        interceptor = around;
        factory = beanFactory;
    }

    /** Has transaction managers ask for the locks before they commit. */
    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        OpenTransactions.askBeforeCommits(bean);
        Object processed = super.postProcessAfterInitialization(bean, beanName);
        if (processed instanceof Advised proxy && advisor != null && proxy.indexOf(advisor) >= 0) {
            placeBehindAsync(proxy, advisor);
            closeLocksLater(beanName);
        }
        return processed;
    }

    /** Whatever the order of their processors. */
    private static void placeBehindAsync(Advised proxy, Advisor ours) {
        Advisor[] all = proxy.getAdvisors();
        int at = proxy.indexOf(ours);
        int behind = at;
        for (int i = at + 1; i < all.length; i++) {
            behind = all[i] instanceof AsyncAnnotationAdvisor ? i : behind;
        }
        if (behind > at) {
            proxy.removeAdvisor(at);
            proxy.addAdvisor(behind, ours);
        }
    }

    /** The bean uses the locks, though it has them from nobody: they are closed after it is destroyed. */
    private void closeLocksLater(String beanName) {
        if (factory instanceof ConfigurableListableBeanFactory beans) {
            for (String each : beans.getBeanNamesForType(Locks.class, true, false)) {
                beans.registerDependentBean(each, beanName);
            }
        }
    }

    /** All methods of a class are looked at, also if the first that is found can have its lock. */
    @Override
    protected boolean isEligible(Class<?> type) {
        boolean eligible = super.isEligible(type);
        if (eligible && interceptor != null) {
            interceptor.check(type);
        }
        return eligible;
    }

    /** Transaction managers that were made before this processor. */
    @Override
    public void afterSingletonsInstantiated() {
        if (factory instanceof ListableBeanFactory beans) {
            OpenTransactions.askBeforeCommitsOf(beans);
        }
    }

    /** The methods with a lock. */
    private static final class LockedMethods extends StaticMethodMatcherPointcut implements ClassFilter {

        private final LockedInterceptor interceptor;

        LockedMethods(LockedInterceptor interceptor) {
            this.interceptor = interceptor;
            setClassFilter(this);
        }

        @Override
        public boolean matches(Class<?> type) {
            return AnnotationUtils.isCandidateClass(type, Locked.class);
        }

        @Override
        public boolean matches(Method method, Class<?> type) {
            return interceptor.find(method, type).isPresent();
        }
    }
}
