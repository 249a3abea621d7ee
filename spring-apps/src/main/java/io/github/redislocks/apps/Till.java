package io.github.redislocks.apps;

import io.github.redislocks.Locks;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** The requests that a test sends to an instance, over HTTP. */
@RestController
public class Till implements DisposableBean {

    private static final String SKU = "sku-42";
    private static final int THREADS = 4;

    private final Stock stock;
    private final Locks locks;
    private final ExecutorService threads = Executors.newCachedThreadPool();

    Till(Stock stock, Locks locks) {
        this.stock = stock;
        this.locks = locks;
    }

    /** Sells {@code each} items in each thread. */
    @PostMapping("/sell")
    public String sell(@RequestParam("each") int each) throws Exception {
        List<Callable<Void>> sellers = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            sellers.add(() -> {
                for (int sale = 0; sale < each; sale++) {
                    stock.sell(SKU, 0);
                }
                return null;
            });
        }
        for (Future<Void> done : threads.invokeAll(sellers)) {
            done.get();
        }
        return "sold";
    }

    /** The number of items that all instances have sold. */
    @GetMapping("/sold")
    public int sold() {
        return stock.sold(SKU);
    }

    /** Makes a thread take a lock and hold it until the instance stops. */
    @PostMapping("/hold")
    public String hold(@RequestParam("lock") String name) throws InterruptedException {
        CountDownLatch held = new CountDownLatch(1);
        threads.execute(() -> {
            try {
                locks.reentrantLock(name).runWithLock(() -> {
                    held.countDown();
                    new CountDownLatch(1).await();
                });
            } catch (InterruptedException e) {
                System.out.println("let go of " + name);
            }
        });
        held.await();
        return "held";
    }

    @Override
    public void destroy() {
        threads.shutdownNow();
    }
}
