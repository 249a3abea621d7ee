package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Monitor;
import io.github.redislocks.bench.Series;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Contender.Trait;
import io.github.redislocks.bench.contender.Setting;
import io.github.redislocks.bench.contender.Use;
import io.github.redislocks.bench.crew.Cell;
import io.github.redislocks.bench.crew.Child;
import io.github.redislocks.bench.crew.Crew;
import io.github.redislocks.bench.crew.Line;
import io.github.redislocks.bench.crew.Loop;
import io.github.redislocks.bench.crew.Tally;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import redis.clients.jedis.Jedis;

/** How the cost grows with the number of clients, of waiters, and of held locks. */
record Growth() implements Work {

    private static final List<Contender> KINDS = List.of(Contender.OURS_DEFAULT, Contender.OURS_FAIR);
    private static final List<Integer> CLIENTS = List.of(1, 2, 4, 8, 16, 32, 64);
    private static final List<Integer> WAITERS = List.of(1, 10, 100, 1_000, 10_000);
    private static final List<Integer> LOCKS = List.of(1_000, 10_000, 100_000);
    private static final int QUICK_MOST = 1_000;
    private static final int LEAST_HANDOFFS = 20;
    private static final int FIRST_HANDOFFS = 10;
    private static final int WARM_UPS = 3;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

    @Override
    public String name() {
        return "growth";
    }

    @Override
    public void run(Bench bench) {
        clients(bench);
        waiters(bench);
        locks(bench);
    }

    private void clients(Bench bench) {
        Map<String, Map<Integer, Double>> lines = new LinkedHashMap<>();
        try (Crew crew = bench.crew(1)) {
            for (Contender contender : KINDS) {
                Map<Integer, Double> line = new TreeMap<>();
                CLIENTS.forEach(clients -> line.put(clients, requestsPerOp(bench, crew, contender, clients)));
                lines.put(contender.label(), line);
            }
        }
        bench.results()
                .add(new Series(
                        "growth-clients",
                        "growth: clients that contend for one lock",
                        "clients",
                        "requests per acquisition",
                        lines));
    }

    private double requestsPerOp(Bench bench, Crew crew, Contender contender, int clients) {
        String key = "growth:" + contender.label();
        long nanos = TimeUnit.MILLISECONDS.toNanos(bench.settings().roundMillis());
        Setting setting = new Setting(bench.server().uri(), 1);
        List<String> keys = Collections.nCopies(clients, key);
        Loop loop = new Loop(contender, setting, Use.LOCK, Loop.How.LOCK, Loop.Clients.EACH, keys, Cell.OWN, nanos);
        Child child = crew.children().get(0);
        // Connect all clients, and let each wait once, before counting.
        child.call(loop);
        try (Monitor monitor = new Monitor(bench.server())) {
            Tally tally = child.call(loop);
            if (tally.violations > 0) {
                bench.results().fail("growth, " + contender.label() + ": two threads had the lock");
            }
            return (double) monitor.end().requests() / tally.ops();
        }
    }

    private void waiters(Bench bench) {
        Map<String, Map<Integer, Double>> medians = new LinkedHashMap<>();
        Map<String, Map<Integer, Double>> tails = new LinkedHashMap<>();
        for (Contender contender : KINDS) {
            Map<Integer, Double> p50 = new TreeMap<>();
            Map<Integer, Double> p99 = new TreeMap<>();
            try (Crew crew = bench.crew(1)) {
                for (int i = 0; i < WARM_UPS; i++) {
                    crew.call(line(bench, contender, QUICK_MOST));
                    crew.call(new Line.Drain());
                }
                for (int waiters : few(bench, WAITERS)) {
                    Histogram nanos = handoffs(bench, crew, contender, waiters);
                    p50.put(waiters, nanos.getValueAtPercentile(50) / 1e3);
                    p99.put(waiters, nanos.getValueAtPercentile(99) / 1e3);
                }
            }
            medians.put(contender.label(), p50);
            tails.put(contender.label(), p99);
        }
        String title = "growth: threads of one JVM that wait for one lock";
        bench.results().add(new Series("growth-waiters-p50", title, "waiters", "p50 of a hand-off, µs", medians));
        bench.results().add(new Series("growth-waiters-p99", title, "waiters", "p99 of a hand-off, µs", tails));
    }

    /**
     * Measures hand-offs while the given number of threads wait, or up to a tenth less; repeats this if the hand-offs
     * are too few. The first ones do not count, since they may wake a sleeping processor.
     */
    private static Histogram handoffs(Bench bench, Crew crew, Contender contender, int waiters) {
        Child child = crew.children().get(0);
        Line line = line(bench, contender, waiters + FIRST_HANDOFFS);
        Histogram nanos = new Histogram(3);
        while (nanos.getTotalCount() < LEAST_HANDOFFS) {
            child.call(line);
            awaitLine(bench, line);
            Line.Drained drained = child.call(new Line.Drain());
            if (drained.violations() > 0) {
                bench.results().fail("growth, " + contender.label() + ": two threads had the lock");
            }
            nanos.add(drained.some(FIRST_HANDOFFS, Math.max(1, waiters / 10)));
        }
        return nanos;
    }

    private static Line line(Bench bench, Contender contender, int waiters) {
        Setting setting = new Setting(bench.server().uri(), 8);
        return new Line(contender, setting, "growth:line:" + contender.label(), waiters);
    }

    /**
     * Waits until all threads are in line: until each has a place in Redis, or, for contenders without places, for a
     * fixed time.
     */
    private static void awaitLine(Bench bench, Line line) {
        if (line.contender() != Contender.OURS_FAIR) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200 + line.threads() / 10));
            return;
        }
        long begin = System.nanoTime();
        try (Jedis jedis = bench.server().connection()) {
            while (jedis.zcard("redis-locks:{" + line.key() + "}:queue") < line.threads()) {
                if (System.nanoTime() - begin > PATIENCE_NANOS) {
                    throw new IllegalStateException("The line does not get to " + line.threads());
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
            }
        }
    }

    private static void locks(Bench bench) {
        Map<String, Map<Integer, Double>> scripts = new LinkedHashMap<>();
        Map<String, Map<Integer, Double>> redis = new LinkedHashMap<>();
        Map<String, Map<Integer, Double>> client = new LinkedHashMap<>();
        Map<String, Map<Integer, Double>> lost = new LinkedHashMap<>();
        boolean quick = bench.settings().quick();
        for (Contender contender : bench.settings().contenders(Trait.RENEWS)) {
            for (int locks : few(bench, LOCKS)) {
                Holding held = Holding.of(
                        bench, contender, new Holding.Plan(locks, quick ? 3_000 : 9_000, quick ? 1 : 2, false));
                String name = contender.label();
                scripts.computeIfAbsent(name, key -> new TreeMap<>()).put(locks, held.scriptsPerSecond());
                redis.computeIfAbsent(name, key -> new TreeMap<>()).put(locks, held.redisCpu() * 100);
                lost.computeIfAbsent(name, key -> new TreeMap<>()).put(locks, (double) held.lost());
                client.computeIfAbsent(name, key -> new TreeMap<>()).put(locks, held.clientCpu() * 100);
            }
        }
        String title = "growth: locks held and renewed";
        bench.results().add(new Series("growth-locks-scripts", title, "locks", "scripts/s", scripts));
        bench.results().add(new Series("growth-locks-redis", title, "locks", "Redis CPU, % of a core", redis));
        bench.results().add(new Series("growth-locks-client", title, "locks", "client CPU, % of a core", client));
        bench.results().add(new Series("growth-locks-lost", title, "locks", "locks lost", lost));
    }

    private static List<Integer> few(Bench bench, List<Integer> all) {
        return bench.settings().quick()
                ? all.stream().filter(size -> size <= QUICK_MOST).toList()
                : all;
    }
}
