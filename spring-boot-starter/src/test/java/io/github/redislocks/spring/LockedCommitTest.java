package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockLostException;
import io.github.redislocks.Locks;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.testkit.InMemoryLocks;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcConnectionPool;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.framework.autoproxy.BeanNameAutoProxyCreator;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.core.PriorityOrdered;
import org.springframework.core.annotation.Order;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.event.TransactionalEventListener;
import org.springframework.transaction.interceptor.TransactionInterceptor;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Nothing is committed under a lock of {@link Locked} that was lost; on H2. */
@Timeout(60)
class LockedCommitTest {

    @Configuration(proxyBeanMethods = false)
    static class Config extends Sales {

        private final InMemoryLocks memory = InMemoryLocks.start();

        @Bean
        InMemoryLocks memory() {
            return memory;
        }

        @Bean
        @Override
        RedisLocks locks() {
            return memory.newClient();
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static LockedPostProcessor locked(ObjectProvider<Locks> locks) {
            return new LockedPostProcessor(locks::getObject, Ordered.LOWEST_PRECEDENCE);
        }

        @Bean
        Ledger ledger(Sales.Counter counter) {
            return new Ledger(counter);
        }

        @Bean
        Shop shop(Sales.Counter counter, InMemoryLocks memory, PlatformTransactionManager manager) {
            return new Shop(counter, memory, new TransactionTemplate(manager));
        }
    }

    static class Shop {

        final Sales.Counter counter;
        final InMemoryLocks memory;
        final TransactionTemplate transaction;

        Shop(Sales.Counter counter, InMemoryLocks memory, TransactionTemplate transaction) {
            this.counter = counter;
            this.memory = memory;
            this.transaction = transaction;
        }

        @Transactional
        @Locked("sale:#{#id}")
        public void sell(int id, boolean lost) {
            counter.add(id);
            if (lost) {
                memory.lose("sale:" + id);
            }
        }

        @Locked("sale:#{#id}")
        public void sellTwice(int id) {
            transaction.executeWithoutResult(status -> counter.add(id));
            transaction.executeWithoutResult(status -> {
                counter.add(id);
                memory.lose("sale:" + id);
            });
        }

        @Locked("sale:#{#id}")
        public void aroundSale(int id, Runnable action) {
            action.run();
        }

        @Locked("shop")
        public void around(Runnable action) {
            action.run();
        }
    }

    static class Books {

        private final Sales.Counter counter;

        Books(Sales.Counter counter) {
            this.counter = counter;
        }

        @Locked("sale:#{#id}")
        public void enter(int id) {
            counter.add(id);
        }
    }

    /** The class's annotation does not apply to inherited methods, so Spring begins no transaction there. */
    @Transactional(propagation = Propagation.REQUIRES_NEW)
    static class Ledger extends Books {

        Ledger(Sales.Counter counter) {
            super(counter);
        }
    }

    /** Needs a transaction manager before there is a processor for {@link Locked}. */
    static class Early implements BeanPostProcessor, PriorityOrdered {

        @Override
        public int getOrder() {
            return 0;
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class WithEarlyManager {

        @Bean
        static Early early(PlatformTransactionManager manager) {
            assertThat(manager).isNotNull();
            return new Early();
        }
    }

    static class Till {
        @Transactional(propagation = Propagation.REQUIRES_NEW)
        public void ring() {}
    }

    static class Office {

        private final Sales.Counter counter;
        private final Till till;

        Office(Sales.Counter counter, Till till) {
            this.counter = counter;
            this.till = till;
        }

        /** Suspends whatever transaction it is in for a moment. */
        @Locked("sale:#{#id}")
        @Transactional(propagation = Propagation.REQUIRES_NEW)
        public void sellAndRing(int id) {
            till.ring();
            counter.add(id);
        }

        @Locked("sale:#{#id}")
        @Transactional(propagation = Propagation.REQUIRES_NEW, noRollbackFor = IllegalArgumentException.class)
        public void sell(int id, boolean fails) {
            counter.add(id);
            if (fails) {
                throw new IllegalArgumentException("of the test");
            }
        }
    }

    /** Makes the proxies of transactions as late as an order allows. */
    @Configuration(proxyBeanMethods = false)
    static class WithLateProxies {

        private final InMemoryLocks memory = InMemoryLocks.start();

        @Bean
        InMemoryLocks memory() {
            return memory;
        }

        @Bean
        RedisLocks locks() {
            return memory.newClient();
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static LockedPostProcessor locked(ObjectProvider<Locks> locks) {
            return new LockedPostProcessor(locks::getObject, Ordered.LOWEST_PRECEDENCE);
        }

        @Bean(destroyMethod = "dispose")
        JdbcConnectionPool dataSource() {
            return new Sales().dataSource();
        }

        @Bean
        Sales.Counter counter(DataSource dataSource) {
            return new Sales().counter(dataSource);
        }

        @Bean
        PlatformTransactionManager transactions(DataSource dataSource) {
            return new DataSourceTransactionManager(dataSource);
        }

        @Bean
        static TransactionInterceptor begin(BeanFactory beans) {
            TransactionInterceptor begin = new TransactionInterceptor();
            begin.setBeanFactory(beans);
            begin.setTransactionAttributeSource(new AnnotationTransactionAttributeSource());
            return begin;
        }

        @Bean
        static BeanNameAutoProxyCreator late() {
            BeanNameAutoProxyCreator late = new BeanNameAutoProxyCreator();
            late.setBeanNames("office", "till");
            late.setInterceptorNames("begin");
            late.setProxyTargetClass(true);
            return late;
        }

        @Bean
        Till till() {
            return new Till();
        }

        @Bean
        Office office(Sales.Counter counter, Till till) {
            return new Office(counter, till);
        }
    }

    private AnnotationConfigApplicationContext context;
    private Shop shop;
    private Books books;
    private Sales.Counter counter;
    private InMemoryLocks memory;

    @BeforeEach
    void start() {
        start(Config.class);
    }

    private void start(Class<?>... configs) {
        context = new AnnotationConfigApplicationContext(configs);
        books = context.getBean(Books.class);
        shop = context.getBean(Shop.class);
        counter = context.getBean(Sales.Counter.class);
        memory = context.getBean(InMemoryLocks.class);
    }

    @AfterEach
    void stop() {
        context.close();
    }

    @Test
    void lockThatIsLostBeforeTheCommit_rollsItBack() {
        shop.sell(1, false);
        assertThatThrownBy(() -> shop.sell(1, true)).isInstanceOf(LockLostException.class);
        assertThat(counter.count(1)).isOne();
        shop.sell(1, false);
        assertThat(counter.count(1)).as("by the same thread, later").isEqualTo(2);
    }

    @Test
    void transactionsWithoutAnnotation_insideTheMethod_areRolledBackAsWell() {
        assertThatThrownBy(() -> shop.sellTwice(1)).isInstanceOf(LockLostException.class);
        assertThat(counter.count(1)).as("what was committed before the loss").isOne();
    }

    @Test
    void outerLockThatIsLost_rollsBackWhatBeginsInside() {
        assertThatThrownBy(() -> shop.around(() -> {
                    memory.lose("shop");
                    shop.sell(1, false);
                }))
                .isInstanceOf(LockLostException.class);
        assertThat(counter.count(1)).isZero();
    }

    @Test
    void enclosingLockThatIsLost_isNotTakenAnewByAMethodInside() {
        assertThatThrownBy(() -> shop.aroundSale(1, () -> {
                    memory.lose("sale:1");
                    shop.sell(1, false);
                }))
                .isInstanceOf(LockLostException.class);
        assertThat(counter.count(1)).isZero();
        shop.aroundSale(1, () -> shop.sell(1, false));
        assertThat(counter.count(1)).as("of a lock that is held").isOne();
    }

    @Test
    void lossThatAMethodInsideFinds_ofAThreadWithoutAName_saysWhichThread() throws Exception {
        FencedLock another = memory.newClient().reentrantLock("sale:1");
        FutureTask<Throwable> thrown = new FutureTask<>(() -> catchThrowable(() -> shop.aroundSale(1, () -> {
            another.forceUnlock();
            shop.sell(1, false);
        })));
        new Thread(thrown, "").start();
        assertThat(thrown.get())
                .isInstanceOfSatisfying(
                        LockLostException.class,
                        lost -> assertThat(lost.loss().owner()).startsWith("thread Thread["));
    }

    @Test
    void transactionThatIsJoined_isNotTakenForOneOfItsOwn() {
        TransactionTemplate transaction = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
        assertThatThrownBy(() -> transaction.executeWithoutResult(status -> books.enter(1)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("before the transaction begins");
    }

    @Test
    void managerThatWasMadeEarly_asksAsWell() {
        context.close();
        start(Config.class, WithEarlyManager.class);
        assertThatThrownBy(() -> shop.sell(1, true)).isInstanceOf(LockLostException.class);
        assertThat(counter.count(1)).isZero();
    }

    /** An auto-proxy creator of lowest precedence makes a proxy of its own, and the lock is still around it. */
    @Test
    void transactionOfItsOwn_thatALateProxyBegins_isCommittedUnderTheLock() {
        try (AnnotationConfigApplicationContext late = new AnnotationConfigApplicationContext(WithLateProxies.class)) {
            Office office = late.getBean(Office.class);
            office.sell(1, false);
            assertThatThrownBy(() -> office.sell(1, true)).isInstanceOf(IllegalArgumentException.class);
            office.sellAndRing(1);
            assertThat(late.getBean(Sales.Counter.class).count(1)).isEqualTo(3);
        }
    }

    /** The transaction would be committed after the lock was released. */
    @Test
    void transactionOfItsOwn_thatAnOuterProxyBegins_isRolledBack() {
        try (AnnotationConfigApplicationContext late = new AnnotationConfigApplicationContext()) {
            late.register(WithLateProxies.class);
            late.registerBean(
                    "plain",
                    Office.class,
                    () -> new Office(late.getBean(Sales.Counter.class), late.getBean(Till.class)));
            late.refresh();
            ProxyFactory around = new ProxyFactory(late.getBean("plain"));
            around.setProxyTargetClass(true);
            around.addAdvice(late.getBean(TransactionInterceptor.class));
            Office office = (Office) around.getProxy();
            assertThatThrownBy(() -> office.sell(1, false))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("Office.sell(int, boolean)")
                    .hasMessageContaining("a proxy around this one");
            assertThatThrownBy(() -> office.sell(1, true)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> office.sellAndRing(1)).isInstanceOf(IllegalStateException.class);
            assertThat(late.getBean(Sales.Counter.class).count(1)).isZero();
        }
    }

    record Sold(int id, List<String> told) {}

    static class Listeners {

        private final Sales.Counter counter;

        Listeners(Sales.Counter counter) {
            this.counter = counter;
        }

        /** Runs last, since Spring forgets the other transaction at its end. */
        @Order(2)
        @Locked("own")
        @Transactional(propagation = Propagation.REQUIRES_NEW)
        @TransactionalEventListener
        public void onItsOwn(Sold sold) {
            counter.add(sold.id);
            sold.told.add("own");
        }

        @Order(1)
        @Locked("plain")
        @TransactionalEventListener
        public void plainly(Sold sold) {
            sold.told.add("plain");
        }

        @Order(1)
        @Locked(value = "until", inTransaction = Locked.InTransaction.UNLOCK_AFTER_COMPLETION)
        @TransactionalEventListener
        public void untilCompletion(Sold sold) {
            sold.told.add("until");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class WithListeners {
        @Bean
        Listeners listeners(Sales.Counter counter) {
            return new Listeners(counter);
        }
    }

    /** Spring calls them when the transaction has ended, and before it forgets it. */
    @Test
    void listeners_ofACommit_runUnderTheirLocks() {
        context.close();
        start(Config.class, WithListeners.class);
        List<String> told = new ArrayList<>();
        TransactionTemplate transaction = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
        transaction.executeWithoutResult(status -> context.publishEvent(new Sold(1, told)));
        assertThat(told).containsExactlyInAnyOrder("own", "plain", "until");
        assertThat(counter.count(1)).isOne();
        RedisLocks locks = context.getBean(RedisLocks.class);
        assertThat(locks.heldNames()).isEmpty();
    }

    /** The callback would join the transaction that has ended, and its writes be committed later. */
    @Test
    void transaction_afterTheEndOfAnother_isRefusedIfItIsNotItsOwn() {
        List<Throwable> thrown = new ArrayList<>();
        TransactionTemplate transaction = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
        transaction.executeWithoutResult(status ->
                TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                    @Override
                    public void afterCompletion(int ended) {
                        thrown.add(catchThrowable(() -> shop.sell(1, false)));
                    }
                }));
        assertThat(thrown)
                .singleElement()
                .isInstanceOfSatisfying(
                        IllegalStateException.class,
                        refused -> assertThat(refused).hasMessageContaining("before the transaction begins"));
        assertThat(counter.count(1)).isZero();
    }

    @Test
    void lockOfAnotherKind_isNotAsked() {
        RedisLocks locks = context.getBean(RedisLocks.class);
        assertThatThrownBy(() -> locks.reentrantLock("other").runWithLock(() -> {
                    memory.lose("other");
                    shop.sell(1, false);
                }))
                .isInstanceOf(LockLostException.class);
        assertThat(counter.count(1)).isOne();
    }
}
