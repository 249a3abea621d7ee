package io.github.redislocks.apps;

import io.github.redislocks.RedisLocks;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import io.quarkus.runtime.annotations.QuarkusMain;
import jakarta.inject.Inject;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Sells as many items as the argument says, and stops while a lock is held. Then prints what became of the hold and of
 * the client.
 */
@QuarkusMain
public class ShopApplication implements QuarkusApplication {

    private static final CompletableFuture<String> HOLDER = new CompletableFuture<>();
    private static final CountDownLatch STOPPED = new CountDownLatch(1);
    private static RedisLocks used;

    @Inject
    Shop shop;

    @Inject
    RedisLocks locks;

    public static void main(String... args) {
        Quarkus.run(
                ShopApplication.class,
                (code, error) -> {
                    STOPPED.countDown();
                    System.out.println("holder: " + HOLDER.join() + ", closed: " + used.isClosed());
                    System.exit(code);
                },
                args);
    }

    @Override
    public int run(String... args) throws InterruptedException {
        used = locks;
        int sold = 0;
        for (int sale = 0; sale < Integer.parseInt(args[0]); sale++) {
            sold = shop.sell();
        }
        System.out.println("sold: " + sold + ", closed: " + used.isClosed());
        CountDownLatch inside = new CountDownLatch(1);
        Thread holder = new Thread(() -> hold(inside));
        holder.setDaemon(true);
        holder.start();
        inside.await();
        return 0;
    }

    /** Holds a lock until half a second after the application stops, if the application waits for that. */
    private static void hold(CountDownLatch inside) {
        try {
            HOLDER.complete(used.reentrantLock("order:7").callWithLock(() -> {
                inside.countDown();
                while (!used.isClosed()) {
                    Thread.onSpinWait();
                }
                return STOPPED.await(500, TimeUnit.MILLISECONDS) ? "not waited for" : "finished";
            }));
        } catch (Exception e) {
            HOLDER.complete(e.toString());
        }
    }
}
