package io.github.redislocks.spring;

import io.github.redislocks.Locks;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Makes {@link Locked} methods of beans take their locks, and makes a {@link LockedTransactions} if there is a
 * transaction manager.
 */
@AutoConfiguration(
        after = RedisLocksAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration",
            "org.springframework.boot.autoconfigure.transaction.TransactionAutoConfiguration"
        })
@Conditional(LockedAutoConfiguration.Wanted.class)
final class LockedAutoConfiguration {

    /** The condition that there are locks, of the auto-configuration or of the application. */
    static final class Wanted extends AnyNestedCondition {

        Wanted() {
            super(ConfigurationPhase.REGISTER_BEAN);
        }

        @ConditionalOnProperty(prefix = "redis-locks", name = "enabled", matchIfMissing = true)
        static final class Enabled {}

        @ConditionalOnBean(Locks.class)
        static final class Own {}
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    @ConditionalOnMissingBean
    static LockedPostProcessor redisLocksLockedPostProcessor(ObjectProvider<Locks> locks, Environment environment) {
        return new LockedPostProcessor(
                locks::getObject,
                Binder.get(environment)
                        .bind("redis-locks.locked-order", Integer.class)
                        .orElse(Ordered.LOWEST_PRECEDENCE));
    }

    /** The beans that need Spring's transactions. This class is not loaded without transactions on the class path. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.transaction.PlatformTransactionManager")
    @ConditionalOnSingleCandidate(PlatformTransactionManager.class)
    static class WithTransactions {

        @Bean
        @ConditionalOnMissingBean
        @ConditionalOnSingleCandidate(Locks.class)
        LockedTransactions redisLocksTransactions(Locks locks, PlatformTransactionManager transactions) {
            return new LockedTransactions(locks, new TransactionTemplate(transactions));
        }
    }
}
