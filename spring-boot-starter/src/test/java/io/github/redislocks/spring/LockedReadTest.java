package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockEvent;
import io.github.redislocks.LockLostException;
import io.github.redislocks.Locks;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantReadWriteLock;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.testkit.InMemoryLocks;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcConnectionPool;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Methods that read under a lock: {@link Locked.Mode#READ}. */
@Timeout(60)
class LockedReadTest {

    @Configuration(proxyBeanMethods = false)
    static class Config {

        @Bean(destroyMethod = "close")
        InMemoryLocks memory() {
            return InMemoryLocks.start(builder -> builder.residency(Duration.ofSeconds(1)));
        }

        @Bean(destroyMethod = "")
        RedisLocks locks(InMemoryLocks memory) {
            return memory.client();
        }

        @Bean(destroyMethod = "dispose")
        JdbcConnectionPool dataSource() {
            return new Sales().dataSource();
        }

        @Bean
        PlatformTransactionManager transactions(DataSource dataSource) {
            return new DataSourceTransactionManager(dataSource);
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static LockedPostProcessor locked(ObjectProvider<Locks> locks) {
            return new LockedPostProcessor(locks::getObject, Ordered.LOWEST_PRECEDENCE);
        }

        @Bean
        Prices prices(BeanFactory beans) {
            return new Prices(beans);
        }
    }

    static class Prices {

        private final BeanFactory beans;

        Prices(BeanFactory beans) {
            this.beans = beans;
        }

        private Prices proxy() {
            return beans.getBean(Prices.class);
        }

        @Locked(value = "prices", mode = Locked.Mode.READ)
        public void read(Runnable work) {
            work.run();
        }

        @Locked(value = "prices", mode = Locked.Mode.READ)
        public long version(@FencingToken long version) {
            return version;
        }

        @Locked("prices")
        public long write(@FencingToken long token) {
            return token;
        }

        @Locked("prices")
        public long readInside(@FencingToken long token) {
            assertThat(proxy().version(-1)).isEqualTo(token);
            return token;
        }

        @Locked(value = "prices", atLeast = "50s")
        public long readInsideHandle(@FencingToken long token) {
            assertThat(proxy().version(-1)).isEqualTo(token);
            return token;
        }

        @Locked(value = "prices", mode = Locked.Mode.READ, waitFor = "0")
        public void tryToRead() {}

        @Locked(value = "prices", mode = Locked.Mode.READ, waitFor = "1ms", busy = Locked.Busy.SKIP)
        public Optional<String> skip() {
            return Optional.of("read");
        }

        @Locked(
                value = {"stock", "prices"},
                mode = Locked.Mode.READ)
        public void readBoth(Runnable work) {
            work.run();
        }
    }

    private final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(Config.class);
    private final Prices prices = context.getBean(Prices.class);
    private final InMemoryLocks memory = context.getBean(InMemoryLocks.class);
    private final RedisReentrantReadWriteLock elsewhere = memory.newClient().readWriteLock("prices");

    private TransactionTemplate transaction() {
        return new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
    }

    @AfterEach
    void stop() {
        context.close();
    }

    @Test
    void readers_runAtOnce_andKeepWritersOut() {
        CountDownLatch both = new CountDownLatch(2);
        Runnable meetsTheOther = () -> {
            both.countDown();
            await(both);
        };
        CompletableFuture<Void> other = OwnThread.run(() -> prices.read(meetsTheOther));
        prices.read(() -> {
            meetsTheOther.run();
            assertThat(elsewhere.readLock().tryLock()).isTrue();
            elsewhere.readLock().unlock();
            assertThat(elsewhere.writeLock().tryLock()).isFalse();
        });
        other.join();
        assertThat(elsewhere.writeLock().tryLock()).isTrue();
    }

    private static void await(CountDownLatch met) {
        try {
            met.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void writer_keepsReadersOut_whoThrowOrSkip() {
        elsewhere.writeLock().lock();
        assertThatThrownBy(prices::tryToRead).isInstanceOf(LockBusyException.class);
        assertThat(prices.skip()).isEmpty();
        elsewhere.writeLock().unlock();
        prices.tryToRead();
        assertThat(prices.skip()).hasValue("read");
    }

    @Test
    void severalNames_areAllRead() {
        RedisLocks locks = context.getBean(RedisLocks.class);
        prices.readBoth(() -> {
            assertThat(locks.readWriteLock("prices").getReadHoldCount()).isOne();
            assertThat(locks.readWriteLock("stock").getReadHoldCount()).isOne();
        });
    }

    @Test
    void token_isThatOfTheLastWriter() {
        long written = prices.write(-1);
        assertThat(prices.version(-1)).isEqualTo(written);
        assertThat(prices.version(-1)).isEqualTo(written);
        assertThat(prices.write(-1)).isGreaterThan(written);
    }

    @Test
    void methodThatReads_insideOneThatWrites_isLetIn() {
        assertThat(prices.readInside(-1)).isPositive();
        assertThat(prices.readInsideHandle(-1)).isPositive();
    }

    @Test
    void methodThatWrites_insideOneThatReads_isToldWhatToDo() {
        assertThatThrownBy(() -> prices.read(() -> prices.write(-1)))
                .isInstanceOf(IllegalMonitorStateException.class)
                .hasMessageContaining("\"prices\"")
                .hasMessageContaining("Unlock the read lock before");
        prices.write(-1);
    }

    @Test
    void lossOfTheReadLock_isToldToTheCaller_andToMethodsInside() {
        assertThatThrownBy(() -> prices.read(() -> {
                    memory.lose("prices");
                    assertThatThrownBy(() -> prices.version(-1))
                            .isInstanceOfSatisfying(
                                    LockLostException.class,
                                    e -> assertThat(e.loss().mode()).isEqualTo(LockEvent.Mode.READ));
                }))
                .isInstanceOf(LockLostException.class);
        assertThat(prices.skip()).hasValue("read");
    }

    @Test
    void lossOfTheReadLock_beforeTheCommit_rollsBack() {
        assertThatThrownBy(() -> prices.read(() -> transaction().executeWithoutResult(status -> memory.lose("prices"))))
                .isInstanceOf(LockLostException.class)
                .hasStackTraceContaining("beforeCommit");
    }

    @Test
    void methodThatReads_inAnOpenTransaction_isRefusedWithARemedyThatItHas() {
        assertThatThrownBy(() -> transaction().executeWithoutResult(status -> prices.tryToRead()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Prices.tryToRead()")
                .hasMessageContaining("before the transaction begins")
                .hasMessageNotContaining("UNLOCK_AFTER_COMPLETION");
    }

    static class WithFairness {
        @Locked(value = "x", mode = Locked.Mode.READ, fair = true)
        public void work() {}
    }

    static class WithLease {
        @Locked(value = "x", mode = Locked.Mode.READ, lease = "30s")
        public void work() {}
    }

    static class WithLeastTime {
        @Locked(value = "x", mode = Locked.Mode.READ, atLeast = "50s")
        public void work() {}
    }

    static class WithCompletion {
        @Locked(value = "x", mode = Locked.Mode.READ, inTransaction = Locked.InTransaction.UNLOCK_AFTER_COMPLETION)
        public void work() {}
    }

    @ParameterizedTest
    @ValueSource(classes = {WithFairness.class, WithLease.class, WithLeastTime.class, WithCompletion.class})
    void settingThatIsForOneOwner_failsTheStart(Class<?> type) {
        assertThatThrownBy(() -> new AnnotationConfigApplicationContext(Config.class, type).close())
                .hasStackTraceContaining(
                        "@Locked(\"x\") on " + type.getName() + ".work() cannot work: it has mode = READ")
                .hasStackTraceContaining("Leave that setting out, or the mode");
    }

    static class WithFuture {
        @Locked(value = "x", mode = Locked.Mode.READ)
        public CompletableFuture<Void> work() {
            return CompletableFuture.completedFuture(null);
        }
    }

    @Test
    void methodThatReturnsBeforeItsWork_failsTheStart() {
        assertThatThrownBy(() -> new AnnotationConfigApplicationContext(Config.class, WithFuture.class).close())
                .hasStackTraceContaining("it returns CompletableFuture<Void>");
    }
}
