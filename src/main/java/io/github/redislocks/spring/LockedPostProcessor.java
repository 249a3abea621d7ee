package io.github.redislocks.spring;

import io.github.redislocks.Locks;
import java.lang.reflect.Method;
import java.util.function.Supplier;
import org.springframework.aop.ClassFilter;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotationUtils;

/**
 * Puts {@link LockedInterceptor} around beans with {@link Locked} methods, and before all advisors that they have got
 * so far, that of transactions among them, whatever their order. Only {@code @Async}, whose processor comes later, is
 * outside of it: the lock belongs to the thread that does the work.
 */
final class LockedPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {

    private static final long serialVersionUID = 1;

    private final transient Supplier<? extends Locks> locks;

    LockedPostProcessor(Supplier<? extends Locks> locks) {
        this.locks = locks;
        setBeforeExistingAdvisors(true);
        setProxyTargetClass(true);
        setOrder(Ordered.LOWEST_PRECEDENCE - 1);
    }

    @Override
    public void setBeanFactory(BeanFactory beanFactory) {
        super.setBeanFactory(beanFactory);
        LockedInterceptor interceptor = new LockedInterceptor(locks, (ConfigurableBeanFactory) beanFactory);
        DefaultPointcutAdvisor made = new DefaultPointcutAdvisor(new LockedMethods(interceptor), interceptor);
        made.setOrder(Ordered.HIGHEST_PRECEDENCE);
        advisor = made;
    }

    /** Has transaction managers ask for the locks before they commit. */
    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        OpenTransactions.askBeforeCommits(bean);
        return super.postProcessAfterInitialization(bean, beanName);
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
