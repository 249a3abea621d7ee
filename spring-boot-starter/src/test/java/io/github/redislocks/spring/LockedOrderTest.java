package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.Locks;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.testkit.InMemoryLocks;
import jakarta.validation.ConstraintViolation;
import jakarta.validation.ConstraintViolationException;
import jakarta.validation.Validator;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.executable.ExecutableValidator;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.Advisor;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.cache.CacheManager;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.cache.concurrent.ConcurrentMapCacheManager;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;
import org.springframework.mock.env.MockEnvironment;
import org.springframework.resilience.annotation.EnableResilientMethods;
import org.springframework.resilience.annotation.Retryable;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.access.prepost.PreAuthorize;
import org.springframework.security.authentication.TestingAuthenticationToken;
import org.springframework.security.config.annotation.method.configuration.EnableMethodSecurity;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.validation.annotation.Validated;
import org.springframework.validation.beanvalidation.MethodValidationPostProcessor;

/** Where the lock of {@link Locked} lies among what else is around a method; another thread has the lock throughout. */
@Timeout(60)
class LockedOrderTest {

    /** As Spring Boot orders them: what the application enables comes before the transactions that Boot enables. */
    @Configuration(proxyBeanMethods = false)
    @EnableMethodSecurity
    @EnableCaching
    @EnableResilientMethods
    static class Config {

        @Bean
        Semaphore busy() {
            return new Semaphore(0);
        }

        @Bean(destroyMethod = "close")
        InMemoryLocks memory(Semaphore busy) {
            return InMemoryLocks.start(builder -> builder.listener(new LockListener() {
                @Override
                public void notAcquired(LockNotAcquired event) {
                    busy.release();
                }
            }));
        }

        @Bean(destroyMethod = "")
        RedisLocks locks(InMemoryLocks memory) {
            return memory.client();
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static LockedPostProcessor locked(ObjectProvider<Locks> locks, Environment environment) {
            return LockedAutoConfiguration.redisLocksLockedPostProcessor(locks, environment);
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static MethodValidationPostProcessor validation() {
            MethodValidationPostProcessor validation = new MethodValidationPostProcessor();
            validation.setValidator(stub(Validator.class));
            return validation;
        }

        @Bean
        CacheManager caches() {
            return new ConcurrentMapCacheManager();
        }

        @Bean
        Shop shop() {
            return new Shop();
        }
    }

    /** A validator that finds a violation in each call that passes a null. */
    private static <T> T stub(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    if (method.getName().equals("validateParameters")) {
                        return Arrays.asList((Object[]) arguments[2]).contains(null)
                                ? Set.of(stub(ConstraintViolation.class))
                                : Set.of();
                    }
                    Class<?> result = method.getReturnType();
                    return result == ExecutableValidator.class
                            ? stub(result)
                            : result == int.class ? 0 : result == Set.class ? Set.of() : null;
                }));
    }

    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement
    static class TransactionsLast {}

    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement(order = 1)
    static class TransactionsFirst {}

    /** Says what happens to the lock when a transaction begins and has ended. */
    static class Transactions extends AbstractPlatformTransactionManager implements PlatformTransactionManager {

        private static final long serialVersionUID = 1;

        final transient List<Boolean> heldAtBeginAndCommit = new ArrayList<>();
        private final transient RedisLocks locks;

        Transactions(RedisLocks locks) {
            this.locks = locks;
        }

        @Override
        protected Object doGetTransaction() {
            return this;
        }

        @Override
        protected void doBegin(Object transaction, org.springframework.transaction.TransactionDefinition definition) {
            add();
        }

        @Override
        protected void doCommit(DefaultTransactionStatus status) {
            add();
        }

        @Override
        protected void doRollback(DefaultTransactionStatus status) {}

        private void add() {
            heldAtBeginAndCommit.add(locks.reentrantLock("sale:1").isHeldByCurrentThread());
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class WithTransactions {
        @Bean
        Transactions transactions(RedisLocks locks) {
            return new Transactions(locks);
        }
    }

    @Validated
    static class Shop {

        private final AtomicInteger runs = new AtomicInteger();

        @PreAuthorize("hasRole('SELLER')")
        @Transactional
        @Locked(value = "sale:#{#id}", waitFor = "0")
        public void authorized(int id) {}

        @Transactional
        @Locked(value = "sale:#{#id}", waitFor = "0")
        public void validated(@NotNull Integer id) {}

        @Cacheable("prices")
        @Transactional
        @Locked(value = "sale:#{#id}", waitFor = "0")
        public int cached(int id) {
            return runs.incrementAndGet();
        }

        @Retryable(includes = LockBusyException.class, maxRetries = 1000, delay = 5)
        @Transactional
        @Locked(value = "sale:#{#id}", waitFor = "0")
        public int retried(int id) {
            return runs.incrementAndGet();
        }

        @Transactional
        @Locked(value = "sale:#{#id}", waitFor = "0")
        public void sold(int id) {}
    }

    private @Nullable AnnotationConfigApplicationContext context;
    private final MockEnvironment environment = new MockEnvironment();
    private Shop shop;
    private FencedLock another;

    @BeforeEach
    void start() {
        start(TransactionsLast.class);
    }

    private void start(Class<?> transactions) {
        stop();
        AnnotationConfigApplicationContext made = new AnnotationConfigApplicationContext();
        context = made;
        made.setEnvironment(environment);
        made.register(Config.class, transactions, WithTransactions.class);
        made.refresh();
        shop = made.getBean(Shop.class);
        another = made.getBean(InMemoryLocks.class).newClient().reentrantLock("sale:1");
    }

    @AfterEach
    void stop() {
        SecurityContextHolder.clearContext();
        if (context != null) {
            context.close();
        }
    }

    private Transactions transactions() {
        return context.getBean(Transactions.class);
    }

    private void logIn(String role) {
        SecurityContextHolder.getContext().setAuthentication(new TestingAuthenticationToken("joe", "", role));
    }

    @ParameterizedTest
    @ValueSource(classes = {TransactionsLast.class, TransactionsFirst.class})
    void security_comesBeforeTheLock(Class<?> transactions) {
        start(transactions);
        another.lock();
        logIn("ROLE_GUEST");
        if (transactions == TransactionsLast.class) {
            assertThatThrownBy(() -> shop.authorized(1)).isInstanceOf(AccessDeniedException.class);
        }
        another.unlock();
        logIn("ROLE_SELLER");
        shop.authorized(1);
    }

    @Test
    void validation_comesBeforeTheLock() {
        another.lock();
        assertThatThrownBy(() -> shop.validated(null)).isInstanceOf(ConstraintViolationException.class);
        start(TransactionsFirst.class);
        assertThatThrownBy(() -> shop.validated(null)).isInstanceOf(ConstraintViolationException.class);
    }

    @Test
    void cacheHit_needsNoLock() {
        assertThat(shop.cached(1)).isOne();
        another.lock();
        assertThat(shop.cached(1)).isOne();
    }

    @Test
    void retry_seesABusyLock() throws Exception {
        another.lock();
        CompletableFuture<Integer> call = OwnThread.call(() -> shop.retried(1));
        assertThat(context.getBean(Semaphore.class).tryAcquire(2, 20, TimeUnit.SECONDS))
                .as("tried again")
                .isTrue();
        another.unlock();
        assertThat(call.get(20, TimeUnit.SECONDS)).isOne();
    }

    @ParameterizedTest
    @ValueSource(classes = {TransactionsLast.class, TransactionsFirst.class})
    void transaction_beginsAndEndsUnderTheLock_inWhateverOrder(Class<?> transactions) {
        start(transactions);
        shop.sold(1);
        logIn("ROLE_SELLER");
        shop.authorized(1);
        assertThat(transactions().heldAtBeginAndCommit).containsExactly(true, true, true, true);
    }

    @Test
    void order_thatIsSet_takesTheLockEarlier() {
        environment.setProperty("redis-locks.locked-order", "250");
        start(TransactionsLast.class);
        another.lock();
        logIn("ROLE_GUEST");
        assertThatThrownBy(() -> shop.authorized(1)).as("of order 200").isInstanceOf(AccessDeniedException.class);
        assertThat(places(shop)).isLessThan(indexOf(shop, "Cache")).isLessThan(indexOf(shop, "Transaction"));
    }

    @Test
    void order_ofHighestPrecedence_isAroundAllElse() {
        environment.setProperty("redis-locks.locked-order", String.valueOf(Ordered.HIGHEST_PRECEDENCE));
        start(TransactionsLast.class);
        assertThat(places(shop)).isZero();
    }

    private static int places(Object bean) {
        return indexOf(bean, LockedInterceptor.class.getSimpleName());
    }

    private static int indexOf(Object bean, String advice) {
        Advisor[] all = ((org.springframework.aop.framework.Advised) bean).getAdvisors();
        for (int i = 0; i < all.length; i++) {
            if (all[i].getAdvice().getClass().getSimpleName().startsWith(advice)) {
                return i;
            }
        }
        throw new AssertionError("no " + advice);
    }
}
