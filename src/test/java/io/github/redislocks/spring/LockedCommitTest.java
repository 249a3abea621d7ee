package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockLostException;
import io.github.redislocks.Locks;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.testkit.InMemoryLocks;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

/** That nothing is committed under a lock of {@link Locked} that was lost; on H2. */
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
            return new LockedPostProcessor(locks::getObject);
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

        @Locked("shop")
        public void around(Runnable action) {
            action.run();
        }
    }

    private AnnotationConfigApplicationContext context;
    private Shop shop;
    private Sales.Counter counter;
    private InMemoryLocks memory;

    @BeforeEach
    void start() {
        context = new AnnotationConfigApplicationContext(Config.class);
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
    void lockOfAnotherKind_isNotAsked() {
        RedisLocks locks = context.getBean(RedisLocks.class);
        assertThatThrownBy(() -> locks.runWithLock("other", () -> {
                    memory.lose("other");
                    shop.sell(1, false);
                }))
                .isInstanceOf(LockLostException.class);
        assertThat(counter.count(1)).isOne();
    }
}
