package io.github.redislocks.demo;

import io.github.redislocks.demo.Sale.Plan;
import io.github.redislocks.demo.Sale.Result;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.RedisServers.Shared;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Jedis;

/**
 * The demo, {@code mvn -q test-compile exec:java}: several processes sell a stock, first without a lock and then under
 * it, while one of them is killed with the lock in its hand. Its exit status is 1 if the sale under the lock broke a
 * rule; {@code -Dlock=false} leaves the lock out of that sale too, to see it fail.
 *
 * <p>It runs on the server in the environment variable {@code REDIS_URL}, if set, and else on one that it starts
 * itself.
 */
public final class StockDemo {

    private static final String REDIS_URL = "REDIS_URL";
    private static final int VICTIM = 1;

    private final Screen screen;
    private final String uri;
    private final String workerUri;
    private final String keyPrefix =
            "redis-locks-demo:" + UUID.randomUUID().toString().substring(0, 8);

    private StockDemo(Screen screen, String uri, String workerUri) {
        this.screen = screen;
        this.uri = uri;
        this.workerUri = workerUri;
    }

    public static void main(String[] args) throws InterruptedException {
        boolean passed;
        String given = System.getenv(REDIS_URL);
        Screen screen = Screen.ofStandardOutput();
        if (given != null && !given.isBlank()) {
            passed = new StockDemo(screen, given, REDIS_URL).run("given (REDIS_URL)");
        } else {
            try (RedisServer server = RedisServer.start()) {
                passed = new StockDemo(screen, server.uri(), server.uri()).run("embedded");
            }
        }
        // On success simply return: this may be Maven's own JVM.
        if (!passed) {
            System.exit(1);
        }
    }

    private boolean run(String origin) throws InterruptedException {
        long begin = System.nanoTime();
        screen.say("%d processes with %d threads each sell %d items on %s"
                .formatted(Sale.PROCESSES, Sale.THREADS, Sale.STOCK, new Shared(origin, version(), uri)));
        Result without = hold(new Plan("without the lock", keyPrefix + ":without", false, false, 0));
        if (without == null) {
            return false;
        }
        Result under = hold(
                "false".equals(System.getProperty("lock"))
                        ? new Plan("with -Dlock=false", keyPrefix + ":under", false, true, 0)
                        : new Plan("under the lock", keyPrefix + ":under", true, true, VICTIM));
        if (under == null) {
            return false;
        }
        screen.say("");
        screen.say(Summary.of(without, under));
        List<String> violations = under.ledger().violations();
        violations.forEach(violation -> screen.say("FAILED: " + violation));
        screen.say(
                violations.isEmpty()
                        ? "Passed: under the lock nothing was oversold, and no token went back."
                        : "Look at these entries, and at the processes' warnings above, which tell of lost locks.");
        screen.say("All in %.1f s.".formatted((System.nanoTime() - begin) / 1e9));
        return violations.isEmpty();
    }

    /** Holds a sale and returns its result, or tells why there is none. */
    private @Nullable Result hold(Plan plan) throws InterruptedException {
        try (Shop shop = new Shop(uri, plan.keyPrefix())) {
            try {
                Result result = new Sale(plan, workerUri, shop, screen).run();
                shop.clear();
                return result;
            } catch (AssertionError | RuntimeException e) {
                screen.say("FAILED: the sale " + plan.title() + " went wrong: " + e.getMessage());
                screen.say("Look at what the processes wrote to standard error, above, and at Redis: " + shop.state());
                return null;
            }
        }
    }

    private String version() {
        try (Jedis redis = new Jedis(uri)) {
            return redis.info("server")
                    .lines()
                    .filter(line -> line.startsWith("redis_version:"))
                    .map(line -> line.substring(line.indexOf(':') + 1))
                    .findFirst()
                    .orElse("of unknown version");
        }
    }
}
