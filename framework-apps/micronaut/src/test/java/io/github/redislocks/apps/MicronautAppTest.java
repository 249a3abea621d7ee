package io.github.redislocks.apps;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.RedisLocks;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Value;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** The recipe for Micronaut: in its container for tests, and in one that this test starts and stops. */
@ExtendWith(OwnRedis.class) // before the container, which is stopped first
@MicronautTest
@Timeout(60)
class MicronautAppTest {

    private static final int THREADS = 8;
    private static final int EACH = 50;

    @Value("${shop.redis}")
    String uri;

    @Inject
    RedisLocks locks;

    @Inject
    Shop shop;

    @Inject
    Stock stock;

    @Test
    void sales_ofTwoClients_areAllCounted() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (RedisLocks other = RedisLocks.connect(uri)) {
            List<Callable<Void>> sellers = new ArrayList<>();
            for (int i = 0; i < THREADS / 2; i++) {
                sellers.add(() -> sell(() -> shop.sell()));
                sellers.add(
                        () -> sell(() -> other.reentrantLock("inventory:sku-42").callWithLock(() -> stock.sell())));
            }
            for (Future<Void> done : threads.invokeAll(sellers)) {
                done.get();
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(stock.sold()).isEqualTo(THREADS * EACH);
        assertThat(locks.isClosed()).isFalse();
    }

    private static Void sell(Callable<Integer> sale) throws Exception {
        for (int i = 0; i < EACH; i++) {
            sale.call();
        }
        return null;
    }

    @Test
    void context_withoutRedis_doesNotStart() {
        assertThatThrownBy(() -> ApplicationContext.run(Map.of("shop.redis", "redis://127.0.0.1:1")))
                .hasStackTraceContaining("Redis cannot be used: No connection to 127.0.0.1:1");
    }

    @Test
    void context_thatStops_letsItsHolderFinish_andClosesItsClient() throws InterruptedException {
        RedisLocks used;
        CompletableFuture<Integer> holder;
        try (ApplicationContext context = ApplicationContext.run()) {
            used = context.getBean(RedisLocks.class);
            assertThat(used).isNotSameAs(locks);
            CountDownLatch inside = new CountDownLatch(1);
            holder = CompletableFuture.supplyAsync(
                    () -> used.reentrantLock("order:7").callWithLock(() -> {
                        inside.countDown();
                        await().until(used::isClosed);
                        return 7;
                    }));
            inside.await();
            assertThat(used.isClosed()).isFalse();
        }
        assertThat(used.isClosed()).isTrue();
        assertThat(holder).succeedsWithin(Duration.ofSeconds(20)).isEqualTo(7);
    }
}
