package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockLostException;
import io.github.redislocks.Locks;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServers;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.NameMatchMethodPointcut;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.mock.env.MockEnvironment;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** {@link Locked} on beans with transactions, on H2 and a real Redis. */
@Timeout(120)
class LockedTest {

    @BeforeAll
    static void chooseRedis() {
        // Started here, since a context would wrap the exception that skips the test where no process may be started.
        RedisServers.shared();
    }

    /** CI sells a few; {@code -Dlocked.sales=10000} sells as many as one likes. */
    private static final int SALES = Integer.getInteger("locked.sales", 400);

    static final String RUN = UUID.randomUUID().toString();

    @Configuration(proxyBeanMethods = false)
    static class Config {

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static LockedPostProcessor locked(ObjectProvider<Locks> locks) {
            return new LockedPostProcessor(locks::getObject, Ordered.LOWEST_PRECEDENCE);
        }

        @Bean
        Shop shop(Sales.Counter counter, RedisLocks locks) {
            return new Shop(counter, locks);
        }

        /** As many write it: a lock around the method, inside the transaction, whose advisor comes before. */
        @Bean
        Advisor naive(RedisLocks locks) {
            NameMatchMethodPointcut pointcut = new NameMatchMethodPointcut();
            pointcut.setMappedName("sellNaively");
            MethodInterceptor aspect =
                    call -> locks.reentrantLock("naive" + RUN).callWithLock(() -> proceed(call));
            return new DefaultPointcutAdvisor(pointcut, aspect);
        }

        private static Object proceed(MethodInvocation call) throws Exception {
            try {
                return call.proceed();
            } catch (Exception | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }
    }

    static class Shop {

        final Sales.Counter counter;
        final RedisLocks locks;
        int calls;

        Shop(Sales.Counter counter, RedisLocks locks) {
            this.counter = counter;
            this.locks = locks;
        }

        @Transactional
        public void sellNaively(int id) {
            counter.add(id);
        }

        @Transactional
        @Locked("sale:#{#id}:${run}")
        public void sell(int id) {
            counter.add(id);
        }

        @Locked(value = "until:#{#id}:${run}", inTransaction = Locked.InTransaction.UNLOCK_AFTER_COMPLETION)
        public void sellUntilCompletion(int id) {
            counter.add(id);
        }

        @Transactional(propagation = Propagation.REQUIRES_NEW)
        @Locked("sale:#{#id}:${run}")
        public void sellOnItsOwn(int id) {
            counter.add(id);
        }

        @Locked(value = "token:#{#p0}:#{@counter.count(1)}:${run}", lease = "30s", fair = true)
        public long token(String id, @FencingToken long token) {
            FencedLock lock = locks.reentrantLock("token:" + id + ":0:" + RUN);
            assertThat(lock.isHeldByCurrentThread()).isTrue();
            assertThat(lock.fencingToken()).isEqualTo(token);
            return token;
        }

        @Locked(value = "busy:${run}", waitFor = "0")
        public void busy() {
            calls++;
        }

        @Locked(value = "busy:${run}", waitFor = "10ms", busy = Locked.Busy.SKIP)
        public Optional<String> skip() {
            calls++;
            return Optional.of("ran");
        }

        @Locked(value = "busy:${run}", waitFor = "10s")
        public void waits() {
            calls++;
        }

        @Locked("null:#{#id}")
        public void named(Object id) {
            calls++;
        }
    }

    private AnnotationConfigApplicationContext context;
    private Shop shop;
    /** Behind the proxy. */
    private Shop real;

    private TransactionTemplate transaction;

    private static AnnotationConfigApplicationContext context(Class<?>... types) {
        AnnotationConfigApplicationContext made = new AnnotationConfigApplicationContext();
        MockEnvironment environment = new MockEnvironment();
        environment.setProperty("run", RUN);
        made.setEnvironment(environment);
        made.register(types);
        made.refresh();
        return made;
    }

    @BeforeEach
    void start() {
        context = context(Sales.class, Config.class);
        shop = context.getBean(Shop.class);
        real = (Shop) AopProxyUtils.getSingletonTarget(shop);
        transaction = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
    }

    @AfterEach
    void stop() {
        context.close();
    }

    @Test
    void locked_aroundTransactions_losesNoSale_butTheNaiveAspectDoes() throws Exception {
        Sales.inThreads(SALES, () -> shop.sell(1));
        assertThat(real.counter.count(1)).isEqualTo(SALES);
        int naive = 0;
        do {
            naive += 100;
            Sales.inThreads(100, () -> shop.sellNaively(2));
        } while (naive < 5_000 && real.counter.count(2) == naive);
        System.out.println("The naive aspect lost " + (naive - real.counter.count(2)) + " of " + naive + " sales");
        assertThat(real.counter.count(2)).isLessThan(naive);
    }

    @Test
    void locked_insideAnOpenTransaction_isRefusedByNameRuleAndRemedy() {
        assertThatThrownBy(() -> transaction.executeWithoutResult(status -> shop.sell(1)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Shop.sell(int)")
                .hasMessageContaining("\"sale:1:" + RUN + "\"")
                .hasMessageContaining("before the transaction begins")
                .hasMessageContaining("UNLOCK_AFTER_COMPLETION");
        assertThat(real.counter.count(1)).isZero();
        transaction.executeWithoutResult(status -> shop.sellOnItsOwn(1));
        assertThat(real.counter.count(1)).isOne();
    }

    @Test
    void locked_byTheHolder_isLetIntoItsTransaction() {
        real.locks
                .reentrantLock("sale:1:" + RUN)
                .runWithLock(() -> transaction.executeWithoutResult(status -> shop.sell(1)));
        assertThat(real.counter.count(1)).isOne();
    }

    @Test
    void unlockAfterCompletion_keepsTheLockUntilTheCommit() throws Exception {
        FencedLock lock = real.locks.reentrantLock("until:1:" + RUN);
        transaction.executeWithoutResult(status -> {
            shop.sellUntilCompletion(1);
            assertThat(lock.isHeldByCurrentThread()).isTrue();
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void afterCommit() {
                    assertThat(lock.isHeldByCurrentThread())
                            .as("still, after the commit")
                            .isTrue();
                }
            });
        });
        assertThat(lock.isLocked()).isFalse();
        Sales.inThreads(100, () -> transaction.executeWithoutResult(status -> shop.sellUntilCompletion(1)));
        assertThat(real.counter.count(1)).isEqualTo(101);
    }

    @Test
    void unlockAfterCompletion_lockThatIsLost_commitsNothing() {
        assertThatThrownBy(() -> transaction.executeWithoutResult(status -> {
                    shop.sellUntilCompletion(1);
                    real.locks.reentrantLock("until:1:" + RUN).forceUnlock();
                    // A re-entry asks Redis, and so finds out.
                    FencedLock lock = real.locks.reentrantLock("until:1:" + RUN);
                    assertThat(lock.tryLock()).isTrue();
                    lock.unlock();
                }))
                .isInstanceOf(LockLostException.class);
        assertThat(real.counter.count(1)).isZero();
    }

    @Test
    void token_isGivenToItsParameter() {
        assertThat(shop.token("a", -1)).isPositive();
    }

    @Test
    void busyLock_isThrownOrSkipped() throws Exception {
        Lock lock = real.locks.reentrantLock("busy:" + RUN);
        ExecutorService other = Executors.newSingleThreadExecutor();
        try {
            other.submit((Runnable) lock::lock).get(20, TimeUnit.SECONDS);
            assertThatThrownBy(shop::busy)
                    .isInstanceOf(LockBusyException.class)
                    .hasMessageContaining("Shop.busy()")
                    .satisfies(
                            e -> assertThat(((LockBusyException) e).lockName()).isEqualTo("busy:" + RUN));
            assertThat(shop.skip()).isEmpty();
            Thread.currentThread().interrupt();
            assertThatThrownBy(shop::waits)
                    .isInstanceOf(LockBusyException.class)
                    .hasMessageContaining("interrupted");
            assertThat(Thread.interrupted()).isTrue();
            assertThat(real.calls).isZero();
            other.submit(lock::unlock).get(20, TimeUnit.SECONDS);
        } finally {
            other.shutdownNow();
        }
        assertThat(shop.skip()).hasValue("ran");
        shop.busy();
        assertThat(real.calls).isEqualTo(2);
    }

    @Test
    void name_withoutAValue_isRefused() {
        assertThatThrownBy(() -> shop.named(null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("Shop.named(Object)")
                .hasMessageContaining("#{#id} is null")
                .hasMessageContaining("-parameters");
        assertThatThrownBy(() -> shop.named(new Object())).hasMessageContaining("without a text of its own");
        shop.named(4711);
        assertThat(real.calls).isOne();
    }

    static class WithPrivate {
        @SuppressWarnings("UnusedMethod")
        @Locked("x")
        private void work() {}
    }

    static class WithFinal {
        @Locked("x")
        public final void work() {}
    }

    static class WithFuture {
        @Locked("x")
        public CompletableFuture<Void> work() {
            return null;
        }
    }

    static class WithoutBraces {
        @Locked("order:#id")
        public void work(long id) {}
    }

    static class WithoutName {
        @Locked("")
        public void work() {}
    }

    static class WithSkippedInt {
        @Locked(value = "x", waitFor = "0", busy = Locked.Busy.SKIP)
        public int work() {
            return 0;
        }
    }

    static class WithEndlessSkip {
        @Locked(value = "x", busy = Locked.Busy.SKIP)
        public void work() {}
    }

    static class WithTextToken {
        @Locked("x")
        public void work(@FencingToken String token) {}
    }

    static class WithShortLease {
        @Locked(value = "x", lease = "1ms")
        public void work() {}
    }

    static class WithWrongTime {
        @Locked(value = "x", waitFor = "soon")
        public void work() {}
    }

    @ParameterizedTest
    @MethodSource
    void placedWrongly_failsWhenTheBeanIsMade(Class<?> type, String why) {
        assertThatThrownBy(() -> context(Config.class, Sales.class, type).close())
                .hasStackTraceContaining("@Locked")
                .hasStackTraceContaining(type.getName() + ".work(")
                .hasStackTraceContaining(why);
    }

    static Stream<Arguments> placedWrongly_failsWhenTheBeanIsMade() {
        return Stream.of(
                Arguments.of(WithPrivate.class, "it is private, and Spring"),
                Arguments.of(WithFinal.class, "it is final, and Spring"),
                Arguments.of(WithFuture.class, "returns CompletableFuture"),
                Arguments.of(WithoutBraces.class, "Write #{#id}"),
                Arguments.of(WithoutName.class, "has no name"),
                Arguments.of(WithSkippedInt.class, "returns int"),
                Arguments.of(WithEndlessSkip.class, "no waitFor"),
                Arguments.of(WithTextToken.class, "a token is a long"),
                Arguments.of(WithShortLease.class, "1 ms"),
                Arguments.of(WithWrongTime.class, "\"soon\""));
    }
}
