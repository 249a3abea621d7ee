package io.github.redislocks.cli.demo;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.cli.demo.Ledger.Entry;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A process that sells items. Its threads read the stock and write it back reduced by one, which is unsafe without a
 * lock. The process writes {@value #READY} when it can begin.
 */
final class StockWorker {

    static final String READY = "ready";

    /** The line that a process writes when it stops in the middle of a sale, under the lock, as its orders say. */
    static final String HOLDING = "I hold the lock now";

    private final Shop shop;
    private final int process;
    private final int stopAt;

    private StockWorker(Shop shop, int process, int stopAt) {
        this.shop = shop;
        this.process = process;
        this.stopAt = stopAt;
    }

    /**
     * The orders of a worker, as the arguments of its main class.
     *
     * @param keyPrefix the prefix of all keys of the sale
     * @param process the number of this process
     * @param locked whether to sell under the lock
     * @param stopAt the process stops in the middle of a sale once the stock is at most this number; -1 for never
     */
    record Orders(String keyPrefix, int process, boolean locked, int stopAt) {

        static Orders parse(String[] args) {
            return new Orders(
                    args[0], Integer.parseInt(args[1]), Boolean.parseBoolean(args[2]), Integer.parseInt(args[3]));
        }

        List<String> args() {
            return List.of(keyPrefix, Integer.toString(process), Boolean.toString(locked), Integer.toString(stopAt));
        }
    }

    public static void main(String[] args) throws InterruptedException, ExecutionException {
        Orders orders = Orders.parse(args);
        String url = System.getenv(SellerJvm.URL);
        try (Shop shop = new Shop(url, orders.keyPrefix())) {
            StockWorker worker = new StockWorker(shop, orders.process(), orders.stopAt());
            if (orders.locked()) {
                worker.sellUnderLock(url, orders);
            } else {
                worker.sell(() -> worker.readModifyWrite(Ledger.NO_TOKEN));
            }
        }
    }

    private void sellUnderLock(String url, Orders orders) throws InterruptedException, ExecutionException {
        try (RedisLocks locks = RedisLocks.builder()
                .uri(url)
                .keyPrefix(orders.keyPrefix())
                .lease(Sale.LEASE)
                .build()) {
            var lock = locks.reentrantLock(Shop.LOCK);
            sell(() -> {
                lock.lock();
                try {
                    return readModifyWrite(lock.fencingToken());
                } finally {
                    lock.unlock();
                }
            });
        }
    }

    /** Sells with all threads until each thread has found the stock empty. */
    private void sell(Callable<Boolean> one) throws InterruptedException, ExecutionException {
        Callable<Boolean> all = () -> {
            boolean more = true;
            while (more) {
                more = one.call();
            }
            return more;
        };
        System.out.println(READY);
        shop.awaitOpening();
        ExecutorService threads = Executors.newFixedThreadPool(Sale.THREADS);
        try {
            for (Future<Boolean> thread : threads.invokeAll(Collections.nCopies(Sale.THREADS, all))) {
                thread.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** Sells one item, and returns whether there was one. */
    private boolean readModifyWrite(long token) throws InterruptedException {
        int stock = shop.stock();
        if (stock <= 0) {
            return false;
        }
        if (stock <= stopAt) {
            System.out.println(HOLDING);
            new CountDownLatch(1).await();
        }
        Entry entry = new Entry(token, process, stock);
        shop.setStock(stock - 1);
        shop.record(entry);
        return true;
    }
}
