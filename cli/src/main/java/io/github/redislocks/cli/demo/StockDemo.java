package io.github.redislocks.cli.demo;

import io.github.redislocks.cli.demo.Sale.Plan;
import io.github.redislocks.cli.demo.Sale.Result;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * The demo: several processes sell a stock, first without a lock and then under a lock. In the second sale one process
 * is killed while it holds the lock.
 */
public final class StockDemo {

    private static final int VICTIM = 1;

    private final Screen screen = Screen.ofStandardOutput();
    private final String url;
    private final boolean locked;
    private final Optional<Path> recordings;
    private final String keyPrefix =
            "redis-locks-demo:" + UUID.randomUUID().toString().substring(0, 8);

    /**
     * Makes the demo for a server.
     *
     * @param locked whether the second sale is under the lock; otherwise the demo shows that the check finds broken
     *     rules
     * @param recordings a folder for recordings of the second sale: one for each process that is not killed
     */
    public StockDemo(String url, boolean locked, Optional<Path> recordings) {
        this.url = url;
        this.locked = locked;
        this.recordings = recordings;
    }

    /** Runs the demo. Returns whether the second sale kept all rules. */
    public boolean run() throws InterruptedException {
        long begin = System.nanoTime();
        screen.say(
                "%d processes with %d threads each sell %d items".formatted(Sale.PROCESSES, Sale.THREADS, Sale.STOCK));
        Optional<Result> without =
                hold(new Plan("without the lock", keyPrefix + ":without", false, false, 0, Optional.empty()));
        if (without.isEmpty()) {
            return false;
        }
        Optional<Result> under = hold(
                locked
                        ? new Plan("under the lock", keyPrefix + ":under", true, true, VICTIM, recordings)
                        : new Plan("with --no-lock", keyPrefix + ":under", false, true, 0, recordings));
        if (under.isEmpty()) {
            return false;
        }
        screen.say("");
        screen.say(Summary.of(without.get(), under.get()));
        List<String> violations = under.get().ledger().violations();
        violations.forEach(violation -> screen.say("FAILED: " + violation));
        screen.say(
                violations.isEmpty()
                        ? "Passed: under the lock nothing was oversold, and no token went back."
                        : "Look at these entries of the ledger.");
        screen.say("All in %.1f s.".formatted((System.nanoTime() - begin) / 1e9));
        return violations.isEmpty();
    }

    /** Runs a sale and returns its result. If the sale fails, shows why and returns empty. */
    private Optional<Result> hold(Plan plan) throws InterruptedException {
        try (Shop shop = new Shop(url, plan.keyPrefix())) {
            try {
                Result result = new Sale(plan, url, shop, screen).run();
                shop.clear();
                return Optional.of(result);
            } catch (AssertionError | RuntimeException e) {
                screen.say("FAILED: the sale " + plan.title() + " went wrong: " + e.getMessage());
                screen.say("Look at what the processes wrote to standard error, above, and at Redis: " + shop.state());
                return Optional.empty();
            }
        }
    }
}
