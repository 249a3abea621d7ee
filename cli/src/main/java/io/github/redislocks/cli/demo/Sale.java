package io.github.redislocks.cli.demo;

import io.github.redislocks.cli.demo.Shop.Holder;
import io.github.redislocks.cli.demo.StockWorker.Orders;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The sale of a stock by several JVMs, from their start to the last item. One of the JVMs may be killed meanwhile. */
final class Sale {

    static final int STOCK = 2_000;
    static final int PROCESSES = 4;
    static final int THREADS = 4;
    static final Duration LEASE = Duration.ofSeconds(3);

    private static final Duration START_TIMEOUT = Duration.ofSeconds(15);
    private static final Duration SALE_TIMEOUT = Duration.ofSeconds(25);
    private static final Duration LOOK_INTERVAL = Duration.ofMillis(2);

    private final Plan plan;
    private final String uri;
    private final Shop shop;
    private final Screen screen;

    Sale(Plan plan, String uri, Shop shop, Screen screen) {
        this.plan = plan;
        this.uri = uri;
        this.shop = shop;
        this.screen = screen;
    }

    /**
     * The settings of a sale.
     *
     * @param title the name of this sale on the screen
     * @param keyPrefix the prefix of all keys of this sale in Redis
     * @param locked whether the processes sell under the lock
     * @param strict whether the rules of the ledger must be kept
     * @param victim the number of the process to kill while it holds the lock; 0 for none
     * @param recordings the folder for a recording of each process
     */
    record Plan(
            String title, String keyPrefix, boolean locked, boolean strict, int victim, Optional<Path> recordings) {}

    /**
     * The result of a sale.
     *
     * @param duration the time from the opening to the end of the last process
     * @param recovery the time from the kill until another process held the lock; empty if no process was killed
     */
    record Result(Plan plan, Ledger ledger, Duration duration, Optional<Duration> recovery) {}

    /**
     * Sells all items.
     *
     * @throws AssertionError if a process does not do its part in time
     */
    Result run() throws InterruptedException {
        shop.setStock(STOCK);
        List<SellerJvm> workers = new ArrayList<>();
        try (Progress progress = new Progress(screen, shop, plan)) {
            for (int process = 1; process <= PROCESSES; process++) {
                SellerJvm worker = SellerJvm.start(uri, recording(process), orders(process));
                workers.add(worker);
                progress.name(worker.pid(), "process " + process);
            }
            for (SellerJvm worker : workers) {
                worker.awaitLine(StockWorker.READY, START_TIMEOUT);
            }
            long begin = System.nanoTime();
            shop.open(PROCESSES);
            progress.start();
            Optional<Duration> recovery =
                    plan.victim() > 0 ? Optional.of(kill(workers.get(plan.victim() - 1), progress)) : Optional.empty();
            awaitEnd(workers, begin);
            return new Result(plan, shop.ledger(STOCK), since(begin), recovery);
        } finally {
            workers.forEach(SellerJvm::close);
        }
    }

    private List<String> recording(int process) {
        if (plan.recordings().isEmpty()) {
            return List.of();
        }
        Path file = plan.recordings().get().resolve("process-" + process + ".jfr");
        return List.of("-XX:StartFlightRecording:filename=" + file + ",+io.github.redislocks.LockWait#atLeast=0ms"
                + ",+io.github.redislocks.LockHold#atLeast=0ms");
    }

    private Orders orders(int process) {
        int stopAt = process == plan.victim() ? STOCK / 2 : -1;
        return new Orders(plan.keyPrefix(), process, plan.locked(), stopAt);
    }

    private Duration kill(SellerJvm victim, Progress progress) throws InterruptedException {
        victim.awaitLine(StockWorker.HOLDING, SALE_TIMEOUT);
        Optional<Holder> before = shop.holder();
        long begin = System.nanoTime();
        victim.kill9();
        if (!isOf(victim, before)) {
            throw new AssertionError(
                    "Process " + plan.victim() + " said that it held the lock, but Redis named " + before + ".");
        }
        String name = "process " + plan.victim();
        progress.name(victim.pid(), name + " (killed)");
        screen.say("kill -9 of " + name + ", which holds the lock, after " + shop.sold() + " sales");
        for (Optional<Holder> now = before; now.isEmpty() || isOf(victim, now); now = shop.holder()) {
            if (since(begin).compareTo(SALE_TIMEOUT) > 0) {
                throw new AssertionError("No other process took the lock over in " + SALE_TIMEOUT.toSeconds() + " s.");
            }
            Thread.sleep(LOOK_INTERVAL.toMillis());
        }
        Duration recovery = since(begin);
        screen.say("Another process got the lock %.2f s after the kill; its lease was %d s."
                .formatted(recovery.toMillis() / 1e3, LEASE.toSeconds()));
        return recovery;
    }

    private static boolean isOf(SellerJvm process, Optional<Holder> holder) {
        return holder.isPresent() && holder.get().pid() == process.pid();
    }

    private void awaitEnd(List<SellerJvm> workers, long begin) throws InterruptedException {
        for (int process = 1; process <= PROCESSES; process++) {
            if (process == plan.victim()) {
                continue;
            }
            int status = workers.get(process - 1).awaitExit(SALE_TIMEOUT.minus(since(begin)));
            if (status != 0) {
                throw new AssertionError("Process " + process + " ended with status " + status
                        + ": see what it wrote to standard error, above.");
            }
        }
    }

    private static Duration since(long beginNanos) {
        return Duration.ofNanos(System.nanoTime() - beginNanos);
    }
}
