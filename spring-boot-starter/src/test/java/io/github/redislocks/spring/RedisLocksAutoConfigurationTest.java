package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.Locks;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.Moment;
import io.github.redislocks.fixture.RedisServers;
import io.github.redislocks.fixture.TlsServer;
import io.github.redislocks.fixture.WorkerJvm;
import io.github.redislocks.micrometer.LockMetrics;
import io.github.redislocks.micrometer.LockObservations;
import io.github.redislocks.testkit.InMemoryLocks;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.core.io.support.SpringFactoriesLoader.FailureHandler;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.SimpleTransactionStatus;

@Timeout(60)
class RedisLocksAutoConfigurationTest {

    /** Nobody listens there. */
    private static final String NOWHERE = "redis-locks.url=redis://localhost:1";

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    LockedAutoConfiguration.class,
                    RedisLocksAutoConfiguration.class,
                    RedisLocksEndpointAutoConfiguration.class,
                    RedisLocksHealthAutoConfiguration.class,
                    RedisLocksMetricsAutoConfiguration.class,
                    RedisLocksObservationAutoConfiguration.class));

    /** Uses the locks, even while it is destroyed. */
    record User(Locks locks, List<String> seen) implements DisposableBean {

        @Override
        public void destroy() {
            seen.add(locks.isClosed() ? "closed" : "open");
        }
    }

    @Test
    void start_withoutRedis_goesOnAndClosesTheLocksAtItsEnd() {
        RedisLocks[] locks = new RedisLocks[1];
        runner.withPropertyValues(NOWHERE).run(context -> {
            locks[0] = context.getBean(RedisLocks.class);
            assertThat(context.getBean(Locks.class)).isSameAs(locks[0]);
        });
        assertThat(locks[0].isClosed()).isTrue();
    }

    @Test
    void client_isNamedAfterTheApplication_unlessItHasANameOfItsOwn() {
        runner.withPropertyValues(NOWHERE, "spring.application.name=Order service/v2")
                .run(context ->
                        assertThat(context.getBean(RedisLocks.class).clientId()).contains(":Order-service-v2."));
        runner.withPropertyValues(NOWHERE, "spring.application.name=orders")
                .withBean(RedisLocksCustomizer.class, () -> builder -> builder.clientName("shop"))
                .run(context ->
                        assertThat(context.getBean(RedisLocks.class).clientId()).contains(":shop."));
        runner.withPropertyValues(NOWHERE, "spring.application.name=" + "x".repeat(99))
                .run(context ->
                        assertThat(context.getBean(RedisLocks.class).clientId()).contains(":" + "x".repeat(40) + "."));
    }

    @Configuration(proxyBeanMethods = false)
    static class WithUser {

        static final List<String> SEEN = new ArrayList<>();

        @Bean
        User user(Locks locks) {
            return new User(locks, SEEN);
        }
    }

    @Test
    void close_ofTheContext_comesAfterTheBeansThatUseTheLocks() {
        WithUser.SEEN.clear();
        runner.withPropertyValues(NOWHERE).withUserConfiguration(WithUser.class).run(context -> {});
        assertThat(WithUser.SEEN).containsExactly("open");
    }

    /** Takes a lock when it is destroyed, and knows none: what it calls has the annotation. */
    record Flusher(Flushed flushed, List<String> seen) implements DisposableBean {

        @Override
        public void destroy() {
            try {
                flushed.flush();
            } catch (LockUnavailableException e) {
                seen.add("open, without a Redis");
            } catch (RuntimeException e) {
                seen.add(e.toString());
            }
        }
    }

    static class Flushed {
        @Locked(value = "flush", waitFor = "0")
        public void flush() {}
    }

    @Configuration(proxyBeanMethods = false)
    static class WithFlusher {

        static final List<String> SEEN = new ArrayList<>();

        @Bean
        Flushed flushed() {
            return new Flushed();
        }

        @Bean
        Flusher flusher(Flushed flushed) {
            return new Flusher(flushed, SEEN);
        }
    }

    @Test
    void close_ofTheContext_comesAfterBeansWithLockedMethods() {
        WithFlusher.SEEN.clear();
        runner.withPropertyValues(NOWHERE)
                .withUserConfiguration(WithFlusher.class)
                .run(context -> {});
        assertThat(WithFlusher.SEEN).containsExactly("open, without a Redis");
    }

    @Test
    void locksOfTheUser_areUsedByLocked_alsoIfNoneAreToBeMade() {
        try (InMemoryLocks memory = InMemoryLocks.start()) {
            RedisLocks own = memory.client();
            runner.withPropertyValues("redis-locks.enabled=false")
                    .withBean("own", RedisLocks.class, () -> own, definition -> definition.setDestroyMethodName(""))
                    .withBean(Flushed.class, Flushed::new)
                    .run(context -> assertThat(AopUtils.isAopProxy(context.getBean(Flushed.class)))
                            .isTrue());
        }
    }

    /** Begins, commits and rolls back nothing. */
    private record PseudoTransactions() implements PlatformTransactionManager {

        @Override
        public TransactionStatus getTransaction(TransactionDefinition definition) {
            return new SimpleTransactionStatus();
        }

        @Override
        public void commit(TransactionStatus status) {}

        @Override
        public void rollback(TransactionStatus status) {}
    }

    @Test
    void twoLocksOfTheUser_withTransactions_doNotFailTheStart() {
        try (InMemoryLocks memory = InMemoryLocks.start()) {
            runner.withBean("one", RedisLocks.class, memory::client, definition -> definition.setDestroyMethodName(""))
                    .withBean(
                            "two",
                            RedisLocks.class,
                            memory::newClient,
                            definition -> definition.setDestroyMethodName(""))
                    .withBean(PlatformTransactionManager.class, PseudoTransactions::new)
                    .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LockedTransactions.class));
        }
    }

    @Test
    void start_eagerWithoutRedis_failsAndSaysWhy() {
        runner.withPropertyValues(NOWHERE, "redis-locks.startup=eager")
                .run(context ->
                        assertThat(messages(context.getStartupFailure())).contains("localhost:1", "refused"));
    }

    @Test
    void locksOfTheUser_areKept() {
        try (RedisLocks own = RedisLocks.builder()
                .uri("redis://localhost:1")
                .connectLater(true)
                .build()) {
            runner.withBean("own", RedisLocks.class, () -> own, definition -> definition.setDestroyMethodName(""))
                    .run(context -> assertThat(context).getBean(Locks.class).isSameAs(own));
        }
    }

    @Test
    void enabledFalse_makesNothing() {
        runner.withPropertyValues("redis-locks.enabled=false")
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean(Locks.class)
                        .doesNotHaveBean(LockedPostProcessor.class));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "url            | http://localhost    | must start with redis://",
                "key-prefix     | {x}                 | {x}",
                "lease          | 1ms                 | 100 ms",
                "retry-for      | 25h                 | 25 h",
                "command-timeout| 0                   | 0 s",
                "max-connections| 0                   | 0",
                "replica-acks   | -1                  | -1",
                "failover-grace | 25h                 | 25 h",
                "max-hold       | 1ms                 | 1 ms",
                "slow-wait      | 1ms                 | slowWait is 1 ms",
                "slow-hold      | 25h                 | slowHold is 25 h",
                "connect-within | 25h                 | 25 h",
                "quorum         | redis://localhost:1 | 1"
            })
    void property_thatCannotWork_failsByItsName(String name, String value, String said) {
        runner.withPropertyValues("redis-locks." + name + "=" + value)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .isInstanceOf(IllegalArgumentException.class)
                        .satisfies(root -> assertThat(messages(context.getStartupFailure()))
                                .contains("The property redis-locks." + name + " cannot work. ", said)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "lease=30              | milliseconds: write 30s",
                "max-connections=0     | Change that property.",
                "quorum=redis://a      | Change that property.",
                "drain=-1s             | Use 0 to wait for no holder."
            })
    void property_thatCannotWork_isShownAsDescriptionAndAction(String property, String action) {
        FailureAnalyzer analyzer = SpringFactoriesLoader.forDefaultResourceLocation()
                .load(FailureAnalyzer.class, FailureHandler.handleMessage((message, failure) -> {}))
                .stream()
                .filter(WrongPropertyAnalyzer.class::isInstance)
                .findAny()
                .orElseThrow();
        runner.withPropertyValues("redis-locks." + property).run(context -> {
            FailureAnalysis analysis = analyzer.analyze(context.getStartupFailure());
            assertThat(analysis.getDescription()).contains("redis-locks." + property.replaceAll("=.*", ""));
            assertThat(analysis.getAction()).contains(action);
        });
        runner.withPropertyValues("redis-locks.command-timeout=20s", "redis-locks.lease=10s")
                .run(context -> assertThat(analyzer.analyze(context.getStartupFailure()))
                        .extracting(FailureAnalysis::getDescription)
                        .asString()
                        .contains("The command timeout is 20 s, and the lease 10 s"));
    }

    @Test
    void text_thatIsEmpty_countsAsNotSet() {
        runner.withPropertyValues("redis-locks.url=", "redis-locks.key-prefix=", "spring.data.redis.port=1")
                .run(context ->
                        assertThat(context.getBean(RedisLocks.class).toString()).contains("localhost:1"));
    }

    @Test
    void lockedOrder_thatIsNoNumber_isShownAsDescriptionAndAction() {
        List<FailureAnalyzer> analyzers = SpringFactoriesLoader.forDefaultResourceLocation()
                .load(FailureAnalyzer.class, FailureHandler.handleMessage((message, failure) -> {}));
        runner.withPropertyValues(NOWHERE, "redis-locks.locked-order=abc")
                .run(context -> assertThat(analyzers)
                        .extracting(analyzer -> analyzer.analyze(context.getStartupFailure()))
                        .filteredOn(Objects::nonNull)
                        .extracting(FailureAnalysis::getDescription)
                        .singleElement()
                        .asString()
                        .contains("redis-locks.locked-order", "abc"));
    }

    private static String messages(Throwable failure) {
        StringBuilder all = new StringBuilder();
        for (Throwable each = failure; each != null; each = each.getCause()) {
            all.append(each.getMessage()).append('\n');
        }
        return all.toString();
    }

    @Test
    void urlAndQuorum_together_areRefused() {
        runner.withPropertyValues(NOWHERE, "redis-locks.quorum=redis://a,redis://b,redis://c")
                .run(context -> assertThat(messages(context.getStartupFailure()))
                        .contains("redis-locks.url and redis-locks.quorum are both set"));
    }

    @Test
    void drain_negative_isRefused() {
        runner.withPropertyValues(NOWHERE, "redis-locks.drain=-1s")
                .run(context ->
                        assertThat(messages(context.getStartupFailure())).contains("redis-locks.drain is -1000 ms"));
    }

    @Test
    void propertiesThatBuildChecks_reachTheBuilder() {
        runner.withPropertyValues(NOWHERE, "redis-locks.token-memory=1s")
                .run(context ->
                        assertThat(messages(context.getStartupFailure())).contains("tokenMemory is 1 s"));
        runner.withPropertyValues(NOWHERE, "redis-locks.restart-delay=1s")
                .run(context ->
                        assertThat(messages(context.getStartupFailure())).contains("restartDelay is 1 s"));
        runner.withPropertyValues(
                        "redis-locks.quorum=redis://localhost:1,redis://localhost:2,redis://localhost:3",
                        "redis-locks.watch-deletions=true")
                .run(context ->
                        assertThat(messages(context.getStartupFailure())).contains("watchDeletions(true)"));
    }

    @Test
    void customizersAndListeners_areAsked() {
        List<String> acquired = new ArrayList<>();
        LockListener listener = new LockListener() {
            @Override
            public void acquired(LockAcquired event) {
                acquired.add(event.lockName());
            }
        };
        String name = "spring-" + UUID.randomUUID();
        runner.withPropertyValues("redis-locks.url=" + RedisServers.shared().uri())
                .withBean(LockListener.class, () -> listener)
                .withBean("first", RedisLocksCustomizer.class, () -> builder -> builder.lease(Duration.ofHours(2)))
                .run(context -> {
                    var lock = context.getBean(RedisLocks.class).reentrantLock(name);
                    lock.lock();
                    assertThat(lock.remainingLease()).isGreaterThan(Duration.ofHours(1));
                    lock.unlock();
                });
        assertThat(acquired).containsExactly(name);
    }

    @Test
    void connectionDetails_ofSpringBoot_sayWhereRedisIs() {
        URI uri = URI.create(RedisServers.shared().uri());
        DataRedisConnectionDetails details = new DataRedisConnectionDetails() {
            @Override
            public Standalone getStandalone() {
                return Standalone.of(uri.getHost(), uri.getPort(), 3);
            }
        };
        runner.withBean(DataRedisConnectionDetails.class, () -> details).run(context -> {
            RedisLocks locks = context.getBean(RedisLocks.class);
            assertThat(locks.toString()).contains(uri.getHost() + ":" + uri.getPort());
            locks.reentrantLock("spring-" + UUID.randomUUID()).runWithLock(() -> {});
        });
    }

    @Test
    void url_ofTheLibrary_isPreferredToConnectionDetails() {
        runner.withPropertyValues(NOWHERE)
                .withBean(DataRedisConnectionDetails.class, () -> new DataRedisConnectionDetails() {})
                .run(context ->
                        assertThat(context.getBean(RedisLocks.class).toString()).contains("localhost:1["));
    }

    @Test
    @Tag("server")
    void sslBundle_isTrusted(@TempDir Path folder) {
        try (TlsServer tls = TlsServer.start(folder)) {
            String[] properties = {
                "spring.data.redis.host=" + tls.address().getHost(),
                "spring.data.redis.port=" + tls.address().getPort(),
                "redis-locks.command-timeout=20s",
                "redis-locks.startup=eager"
            };
            ApplicationContextRunner withBundles = runner.withConfiguration(
                            AutoConfigurations.of(SslAutoConfiguration.class))
                    .withPropertyValues(properties)
                    .withPropertyValues(
                            "spring.ssl.bundle.jks.ours.truststore.location=" + folder.resolve("trust.p12"),
                            "spring.ssl.bundle.jks.ours.truststore.password=changeit");
            withBundles.withPropertyValues("spring.data.redis.ssl.bundle=ours").run(context -> {
                assertThat(context).hasNotFailed();
                context.getBean(RedisLocks.class).reentrantLock("tls").runWithLock(() -> {});
            });
            withBundles
                    .withPropertyValues("spring.data.redis.ssl.enabled=true")
                    .run(context -> assertThat(context)
                            .as("without the bundle")
                            .getFailure()
                            .hasRootCauseInstanceOf(java.security.GeneralSecurityException.class));
        }
    }

    @Test
    void drain_letsHoldersFinish() throws Exception {
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch closing = new CountDownLatch(1);
        CompletableFuture<Void> holder = new CompletableFuture<>();
        runner.withPropertyValues("redis-locks.url=" + RedisServers.shared().uri(), "redis-locks.drain=30s")
                .run(context -> {
                    RedisLocks locks = context.getBean(RedisLocks.class);
                    new Thread(() -> {
                                try {
                                    locks.reentrantLock("spring-" + UUID.randomUUID())
                                            .runWithLock(() -> {
                                                held.countDown();
                                                closing.await();
                                            });
                                    holder.complete(null);
                                } catch (Throwable e) {
                                    holder.completeExceptionally(e);
                                }
                            })
                            .start();
                    assertThat(held.await(20, TimeUnit.SECONDS)).isTrue();
                    new Thread(() -> {
                                while (!locks.isClosed()) {
                                    Moment.pass();
                                }
                                closing.countDown();
                            })
                            .start();
                });
        assertThat(holder).as("no loss").succeedsWithin(Duration.ofSeconds(20));
    }

    @Test
    void metrics_withARegistry_areMadeAndShowTheLocks() {
        runner.withPropertyValues("redis-locks.url=" + RedisServers.shared().uri())
                .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
                .run(context -> {
                    MeterRegistry registry = context.getBean(MeterRegistry.class);
                    context.getBean(LockMetrics.class).bindTo(registry); // as Spring Boot does
                    RedisLocks locks = context.getBean(RedisLocks.class);
                    locks.reentrantLock("spring-" + UUID.randomUUID())
                            .runWithLock(() -> assertThat(registry.get(LockMetrics.HELD)
                                            .gauge()
                                            .value())
                                    .isEqualTo(1));
                    assertThat(registry.get(LockMetrics.HOLD)
                                    .tag(LockMetrics.MODE, "write")
                                    .timer()
                                    .count())
                            .isEqualTo(1);
                });
        runner.withPropertyValues(NOWHERE)
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LockMetrics.class));
    }

    /** As with {@code spring.main.lazy-initialization}: the locks are made after the metrics. */
    @Test
    void metrics_ofLocksThatAreMadeLater_showThem() {
        runner.withPropertyValues(NOWHERE)
                .withInitializer(context ->
                        context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
                .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
                .run(context -> {
                    MeterRegistry registry = context.getBean(MeterRegistry.class);
                    context.getBean(LockMetrics.class).bindTo(registry); // as Spring Boot does
                    assertThat(context.getBeanFactory().containsSingleton("redisLocks"))
                            .isFalse();
                    RedisLocks locks = context.getBean(RedisLocks.class);
                    CompletableFuture<LockHandle> call =
                            locks.reentrantLock("later").acquireAsync();
                    assertThat(registry.get(LockMetrics.WAITING).gauge().value())
                            .isEqualTo(1);
                    call.cancel(true);
                });
    }

    @Test
    void observations_withARegistry_areMade() {
        TestObservationRegistry registry = TestObservationRegistry.create();
        ApplicationContextRunner observed = runner.withPropertyValues(
                        "redis-locks.url=" + RedisServers.shared().uri())
                .withBean(ObservationRegistry.class, () -> registry);
        observed.run(context -> {
            context.getBean(RedisLocks.class)
                    .reentrantLock("spring-" + UUID.randomUUID())
                    .runWithLock(() -> {});
            TestObservationRegistryAssert.assertThat(registry)
                    .hasObservationWithNameEqualTo(LockObservations.POSSESSION)
                    .that()
                    .hasBeenStopped();
        });
        runner.withPropertyValues(NOWHERE)
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LockObservations.class));
    }

    private static boolean isThere(Path entry) {
        String absent = "(spring-boot-(data-redis|health|actuator)|spring-(tx|jdbc|integration)|micrometer).*";
        return !entry.getFileName().toString().matches(absent);
    }

    /** As in an application without the Actuator, Micrometer and transactions, and as in one of Boot 3.5. */
    @Test
    void classes_thatAreNotThere_areNotMissed() throws Exception {
        try (WorkerJvm worker = WorkerJvm.startWith(RedisLocksAutoConfigurationTest::isThere, SmallApplication.class)) {
            assertThat(worker.awaitLine(SmallApplication.BEANS, Duration.ofSeconds(50)))
                    .contains("localhost:1[", "redisLocks ", "LockUnavailableException")
                    .doesNotContain("Endpoint", "Health");
            assertThat(worker.awaitExit(Duration.ofSeconds(20))).isZero();
        }
    }

    @Test
    void unavailableRedis_isToldToWhoeverWantsALock() {
        runner.withPropertyValues(NOWHERE)
                .run(context -> assertThat(org.assertj.core.api.Assertions.catchThrowable(() ->
                                context.getBean(Locks.class).reentrantLock("x").tryLock()))
                        .isInstanceOf(LockUnavailableException.class));
    }
}
