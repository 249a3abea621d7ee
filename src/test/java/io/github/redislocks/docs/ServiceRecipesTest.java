package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.LockedResult;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServer;
import io.github.resilience4j.retry.Retry;
import io.github.resilience4j.retry.RetryConfig;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.enterprise.inject.se.SeContainer;
import jakarta.enterprise.inject.se.SeContainerInitializer;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;

/**
 * The snippets of docs/recipes.md are parts of this test, or of what framework-apps/run runs, and so compiled and run.
 */
@Timeout(60)
@Tag("server")
@Tag("once")
class ServiceRecipesTest {

    private final RedisServer server = RedisServer.start();

    @AfterEach
    void stop() {
        server.close();
    }

    /** The shop of the snippets. */
    private static final class Stock {

        private final AtomicInteger left = new AtomicInteger(3);

        int sell() {
            return left.decrementAndGet();
        }
    }

    @Singleton
    public static class LocksProducer {

        @Produces
        @Singleton
        RedisLocks locks() {
            return RedisLocks.connect(System.getProperty("shop.redis"));
        }

        void close(@Disposes RedisLocks locks) {
            locks.close(Duration.ofSeconds(20)); // lets holders finish
        }
    }

    /** The listener of the client. */
    @Singleton
    public static class Shop {

        @Inject
        RedisLocks locks;

        int sell(Stock stock) {
            return locks.reentrantLock("inventory:sku-42").callWithLock(() -> stock.sell());
        }
    }

    @Test
    void cdi_container_makesOneClientAndClosesIt() {
        System.setProperty("shop.redis", server.uri());
        RedisLocks locks;
        try (SeContainer container = SeContainerInitializer.newInstance()
                .disableDiscovery()
                .addBeanClasses(LocksProducer.class, Shop.class)
                .initialize()) {
            Shop shop = container.select(Shop.class).get();
            assertThat(shop.sell(new Stock())).isEqualTo(2);
            locks = container.select(RedisLocks.class).get();
            assertThat(locks).isSameAs(shop.locks);
            assertThat(locks.isClosed()).isFalse();
        } finally {
            System.clearProperty("shop.redis");
        }
        assertThat(locks.isClosed()).isTrue();
    }

    @Test
    void drain_ofAPodThatStops_letsItsHolderFinish() throws InterruptedException {
        RedisLocks locks = RedisLocks.connect(server.uri());
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        AtomicInteger done = new AtomicInteger();
        CompletableFuture<Integer> worker = CompletableFuture.supplyAsync(() -> locks.reentrantLock("order:7")
                .callWithLock(() -> {
                    inside.countDown();
                    await().until(() -> mayEnd.getCount() == 0);
                    return done.incrementAndGet();
                }));
        inside.await();

        Thread drain = new Thread(() -> locks.close(Duration.ofSeconds(20)), "drain-locks");
        Runtime.getRuntime().addShutdownHook(drain);
        assertThat(Runtime.getRuntime().removeShutdownHook(drain)).isTrue();

        drain.start();
        await().until(locks::isClosed);
        assertThatThrownBy(() -> locks.reentrantLock("order:8").tryLock()).isInstanceOf(IllegalStateException.class);
        mayEnd.countDown();
        assertThat(worker.join()).isEqualTo(1);
        drain.join();
        assertThat(done).hasValue(1);
        try (RedisLocks next = RedisLocks.connect(server.uri())) {
            assertThat(next.reentrantLock("order:7").tryLock()).isTrue();
        }
    }

    @Test
    void retry_ofATry_repeatsWhatIsUnknown_andNotWhatIsBusy() throws Exception {
        Stock stock = new Stock();
        try (RedisLocks locks = RedisLocks.connect(server.uri());
                RedisLocks others = RedisLocks.connect(server.uri())) {
            FencedLock lock = locks.reentrantLock("inventory:sku-42");
            Retry retry = Retry.of(
                    "stock",
                    RetryConfig.custom()
                            .maxAttempts(3)
                            .waitDuration(Duration.ofMillis(200))
                            .retryExceptions(LockUnavailableException.class)
                            .build());
            LockedResult<Integer> left = // ran() is false if it was busy
                    retry.executeCallable(() -> lock.tryCallWithLock(Duration.ofSeconds(2), () -> stock.sell()));
            assertThat(left.get()).isEqualTo(2);

            others.reentrantLock("inventory:sku-42").lock();
            LockedResult<Integer> busy =
                    retry.executeCallable(() -> lock.tryCallWithLock(Duration.ZERO, () -> stock.sell()));
            assertThat(busy.ran()).isFalse();
            assertThat(retry.getMetrics().getNumberOfSuccessfulCallsWithRetryAttempt())
                    .isZero();

            server.kill();
            assertThatThrownBy(() -> retry.executeCallable(
                            () -> lock.tryCallWithLock(Duration.ofMillis(50), () -> stock.sell())))
                    .isInstanceOf(LockUnavailableException.class);
            assertThat(retry.getMetrics().getNumberOfFailedCallsWithRetryAttempt())
                    .isEqualTo(1);
            assertThat(stock.left).hasValue(2);
        }
    }

    static RedisLocks locks(GenericContainer<?> redis) {
        return RedisLocks.connect("redis://" + redis.getHost() + ":" + redis.getMappedPort(6379));
    }

    static boolean hasDocker() {
        return DockerClientFactory.instance().isDockerAvailable();
    }

    @Test
    @EnabledIf("hasDocker")
    void testcontainers_container_hasLocks() {
        try (GenericContainer<?> redis = new GenericContainer<>("redis:7.4").withExposedPorts(6379)) {
            redis.start();
            try (RedisLocks locks = locks(redis)) {
                assertThat(locks.reentrantLock("order:7").tryLock()).isTrue();
            }
        }
    }

    @Test
    void snippets_areOfThisTest_orOfAnApplication() throws IOException {
        StringBuilder sources = new StringBuilder();
        for (String file : List.of(
                "src/test/java/io/github/redislocks/docs/ServiceRecipesTest.java",
                "framework-apps/quarkus/src/main/java/io/github/redislocks/apps/LocksProducer.java",
                "framework-apps/micronaut/src/main/java/io/github/redislocks/apps/LocksFactory.java")) {
            sources.append(withoutSpaces(Files.readString(Path.of(file))));
        }
        assertThat(Pattern.compile("```java\\n(.*?)```", Pattern.DOTALL)
                        .matcher(Files.readString(Path.of("docs", "recipes.md")))
                        .results()
                        .map(match -> withoutSpaces(match.group(1))))
                .hasSizeGreaterThanOrEqualTo(6)
                .allSatisfy(snippet -> assertThat(sources).contains(snippet));
    }

    private static String withoutSpaces(String text) {
        return text.replaceAll("\\s+", "");
    }
}
