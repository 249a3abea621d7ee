package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockOptions;
import io.github.redislocks.Locks;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.testkit.InMemoryLocks;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.AbstractFactoryBean;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;

/** The attributes of {@link Locked} for scheduled jobs, for several locks, and for several beans of locks. */
@Timeout(60)
class LockedAttributesTest {

    @Configuration(proxyBeanMethods = false)
    static class Config {

        @Bean(destroyMethod = "close")
        InMemoryLocks memory() {
            return InMemoryLocks.start();
        }

        @Bean(destroyMethod = "", defaultCandidate = false)
        Locks second(InMemoryLocks memory) {
            return memory.newClient();
        }

        @Bean(destroyMethod = "")
        RedisLocks locks(InMemoryLocks memory) {
            return memory.client();
        }

        /** As far as the lock of a quorum goes, which nobody can keep. */
        @Bean(defaultCandidate = false)
        Locks quorum(RedisLocks locks) {
            return (Locks) Proxy.newProxyInstance(
                    Locks.class.getClassLoader(), new Class<?>[] {Locks.class}, (proxy, method, arguments) -> {
                        if (arguments != null
                                && arguments.length == 2
                                && LockOptions.defaults().fair(true).equals(arguments[1])) {
                            throw new UnsupportedOperationException("A quorum offers no fair locks");
                        }
                        return method.invoke(locks, arguments);
                    });
        }

        @Bean(defaultCandidate = false)
        Locks mocked() {
            return (Locks) Proxy.newProxyInstance(
                    Locks.class.getClassLoader(),
                    new Class<?>[] {Locks.class},
                    (proxy, method, arguments) -> method.getReturnType() == boolean.class ? false : null);
        }

        /** A bean whose declaration does not say that it makes locks. */
        @Bean(destroyMethod = "", defaultCandidate = false)
        AutoCloseable undeclared(InMemoryLocks memory) {
            return memory.client();
        }

        /** Only the factory itself says what it makes. */
        @Bean
        FactoryBean<?> made(InMemoryLocks memory) {
            return new AbstractFactoryBean<Object>() {
                @Override
                public Class<?> getObjectType() {
                    return Locks.class;
                }

                @Override
                protected Object createInstance() {
                    return memory.client();
                }
            };
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static LockedPostProcessor locked(ObjectProvider<Locks> locks) {
            return new LockedPostProcessor(locks::getObject, Ordered.LOWEST_PRECEDENCE);
        }

        @Bean
        AtomicInteger runs() {
            return new AtomicInteger();
        }

        @Bean
        AtomicLong token() {
            return new AtomicLong();
        }

        @Bean
        Job job(BeanFactory beans, AtomicInteger runs, AtomicLong token) {
            return new Job(beans, runs, token);
        }
    }

    static class Job {

        final BeanFactory beans;
        final AtomicInteger runs;
        final AtomicLong token;

        Job(BeanFactory beans, AtomicInteger runs, AtomicLong token) {
            this.beans = beans;
            this.runs = runs;
            this.token = token;
        }

        @Locked(value = "job", waitFor = "0", busy = Locked.Busy.SKIP, atLeast = "50s")
        public void tick(@FencingToken long given) {
            runs.incrementAndGet();
            token.set(given);
        }

        @Locked(value = "job", atLeast = "50s")
        public void outer() {
            beans.getBean(Job.class).inner(-1);
            beans.getBean(Job.class).tick(-1);
        }

        @Locked("job")
        public void inner(@FencingToken long given) {
            token.set(given);
        }

        @Locked(value = "job", atLeast = "50s")
        public void lost() {
            beans.getBean(InMemoryLocks.class).lose("job");
        }

        @Locked(value = "job", atLeast = "50s")
        public void fails() {
            throw new IllegalArgumentException("of the test");
        }

        @Locked(
                value = {"stock:#{#sku}", "order:#{#id}", "stock:#{#sku}"},
                waitFor = "0")
        public List<Boolean> sell(String sku, long id) {
            Locks locks = beans.getBean(RedisLocks.class);
            return List.of(
                    locks.reentrantLock("stock:" + sku).isHeldByCurrentThread(),
                    locks.reentrantLock("order:" + id).isHeldByCurrentThread());
        }

        @Locked(value = "job", locks = "quorum", atLeast = "50s")
        public void byQuorum() {
            runs.incrementAndGet();
        }

        @Locked(value = "user:#{#p0}", waitFor = "1ms")
        public void forUser(String name) {}

        @Locked(value = "job", locks = "second")
        public boolean bySecond() {
            return beans.getBean("second", Locks.class).reentrantLock("job").isHeldByCurrentThread();
        }

        @Locked(value = "job", locks = "mocked")
        public void byMock() {}
    }

    private final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(Config.class);
    private final Job job = context.getBean(Job.class);
    private final AtomicInteger runs = context.getBean(AtomicInteger.class);
    private final AtomicLong token = context.getBean(AtomicLong.class);
    private final InMemoryLocks memory = context.getBean(InMemoryLocks.class);
    private final RedisLocks elsewhere = memory.newClient();
    private final FencedLock another = elsewhere.reentrantLock("job");

    @AfterEach
    void stop() {
        context.close();
    }

    @Test
    void atLeast_skipsTheTickOfAnotherInstance_andRunsTheNext() {
        job.tick(-1);
        assertThat(runs).hasValue(1);
        assertThat(token.get()).isPositive();
        job.tick(-1);
        assertThat(another.tryLock()).isFalse();
        assertThat(runs).hasValue(1);
        memory.advance(Duration.ofSeconds(51));
        job.tick(-1);
        assertThat(runs).hasValue(2);
    }

    @Test
    void atLeast_ofAMethodThatThrows_keepsTheLock() {
        assertThatThrownBy(job::fails).isInstanceOf(IllegalArgumentException.class);
        assertThat(elsewhere.inspect("job").keptFor()).isPresent();
    }

    @Test
    void atLeast_lockThatIsLost_isTold() {
        assertThatThrownBy(job::lost).isInstanceOf(LockLostException.class);
    }

    @Test
    void atLeast_methodsInside_enterTheLockOnceMore() {
        job.outer();
        assertThat(runs).hasValue(1);
        assertThat(token.get()).isPositive();
        assertThat(elsewhere.inspect("job").keptFor()).isPresent();
    }

    @Test
    void atLeast_underALockThatTheThreadHolds_entersItOnceMore() {
        FencedLock own = context.getBean(RedisLocks.class).reentrantLock("job");
        own.runWithLock(() -> job.tick(-1));
        assertThat(runs).hasValue(1);
        assertThat(another.tryLock()).isTrue();
        another.unlock();
    }

    @Test
    void atLeast_onAQuorum_failsBeforeTheMethodRuns() {
        assertThatThrownBy(job::byQuorum)
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("Job.byQuorum()")
                .hasMessageContaining("which a quorum does not support");
        assertThat(runs).hasValue(0);
    }

    @Test
    void nameWithALineBreak_isShownOnOneLine() {
        String name = "a\nWARN all is lost\u001b[31m";
        FencedLock busy = elsewhere.reentrantLock("user:" + name);
        busy.lock();
        assertThatThrownBy(() -> job.forUser(name))
                .isInstanceOf(LockBusyException.class)
                .message()
                .doesNotContain("\n", "\u001b")
                .contains("user:a", "was busy for 1 ms");
        busy.unlock();
    }

    @Test
    void severalNames_areAllTaken_orNone() throws Exception {
        assertThat(job.sell("a", 1)).containsExactly(true, true);
        FencedLock stock = elsewhere.reentrantLock("stock:a");
        stock.lock();
        assertThatThrownBy(() -> job.sell("a", 1))
                .isInstanceOf(LockBusyException.class)
                .hasMessageContaining("stock:a");
        assertThat(elsewhere.reentrantLock("order:1").isLocked()).isFalse();
        stock.unlock();
        assertThat(OwnThread.call(() -> job.sell("a", 1)).get(20, TimeUnit.SECONDS))
                .containsExactly(true, true);
    }

    @Test
    void locks_ofABeanThatIsNamed_areUsed() {
        assertThat(job.bySecond()).isTrue();
    }

    static class NamesLocksOfUnknownType {
        @Locked(value = "job", locks = "undeclared")
        public boolean byUndeclared(Locks locks) {
            return locks.reentrantLock("job").isHeldByCurrentThread();
        }

        @Locked(value = "job", locks = "made")
        public boolean byMade(Locks locks) {
            return locks.reentrantLock("job").isHeldByCurrentThread();
        }
    }

    @Test
    void locks_ofABeanThatIsNotDeclaredAsLocks_areUsed() {
        try (AnnotationConfigApplicationContext other = new AnnotationConfigApplicationContext()) {
            other.registerBean("first", NamesLocksOfUnknownType.class);
            other.register(Config.class);
            other.refresh();
            Locks client = other.getBean(InMemoryLocks.class).client();
            NamesLocksOfUnknownType subject = other.getBean(NamesLocksOfUnknownType.class);
            assertThat(subject.byUndeclared(client)).isTrue();
            assertThat(subject.byMade(client)).isTrue();
        }
    }

    @Test
    void locksThatAreMocked_areRefusedWithTheRemedy() {
        assertThatThrownBy(job::byMock)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("as a mock does")
                .hasMessageContaining("InMemoryLocks");
    }

    static class MisspeltVariable {
        @Locked("order:#{#ordre.length() + 1}")
        public void work(String order) {}
    }

    static class UnknownLocks {
        @Locked(value = "x", locks = "nowhere")
        public void work() {}
    }

    static class LocksOfAnotherType {
        @Locked(value = "x", locks = "runs")
        public void work() {}
    }

    static class TokenOfSeveral {
        @Locked({"a", "b"})
        public void work(@FencingToken long token) {}
    }

    static class WithoutAName {
        @Locked({})
        public void work() {}
    }

    static class KeptForTooLong {
        @Locked(value = "x", atLeast = "25h")
        public void work() {}
    }

    static class KeptInATransaction {
        @Locked(value = "x", atLeast = "1s", inTransaction = Locked.InTransaction.UNLOCK_AFTER_COMPLETION)
        public void work() {}
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "MisspeltVariable   | it names #ordre, which is no parameter; known are [#a0, #order, #p0,",
                "UnknownLocks       | it names the locks \"nowhere\"",
                "LocksOfAnotherType | it names the locks \"runs\"",
                "TokenOfSeveral     | it has a @FencingToken and several names",
                "WithoutAName       | it has no name",
                "KeptForTooLong     | it has an atLeast of 25h",
                "KeptInATransaction | it has an atLeast of 1s"
            })
    void attributesThatCannotWork_failTheStart(String type, String why) throws ClassNotFoundException {
        Class<?> bean = Class.forName(LockedAttributesTest.class.getName() + '$' + type);
        try (AnnotationConfigApplicationContext failing = new AnnotationConfigApplicationContext()) {
            failing.register(Config.class, bean);
            assertThatThrownBy(failing::refresh).hasStackTraceContaining(why);
        }
    }
}
