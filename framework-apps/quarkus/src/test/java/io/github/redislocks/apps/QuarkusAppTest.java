package io.github.redislocks.apps;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.RedisLocks;
import io.quarkus.test.common.WithTestResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The recipe for Quarkus: in its container for tests, and in the application as it is packaged. */
@QuarkusTest
@WithTestResource(OwnRedis.class)
@Timeout(60)
class QuarkusAppTest {

    private static final int THREADS = 8;
    private static final int EACH = 50;

    @ConfigProperty(name = "shop.redis")
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
    void packagedApplication_sells_letsItsHolderFinish_andClosesItsClient(@TempDir Path folder) throws Exception {
        Path output = folder.resolve("output.txt");
        Process app = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Dshop.redis=" + uri,
                        "-jar",
                        Path.of("target", "quarkus-app", "quarkus-run.jar").toString(),
                        Integer.toString(EACH))
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            boolean ended = app.waitFor(40, TimeUnit.SECONDS);
            String said = Files.readString(output);
            System.out.println(said);
            assertThat(ended).as("ended after %s", said).isTrue();
            assertThat(said)
                    .containsSubsequence(
                            "Connected to Redis",
                            "started in",
                            "sold: " + EACH + ", closed: false",
                            "holder: finished, closed: true")
                    .doesNotContain(" WARN ", "ERROR");
            assertThat(app.exitValue()).isZero();
        } finally {
            app.destroyForcibly();
        }
    }
}
